//! When a schedule of cron was due last. Times are minutes since 1970-01-01 00:00 of the schedule's time zone.

const DAY: i64 = 24 * 60;
/// The days that are looked at: between two 29ths of February, there are up to eight years.
const DAYS: i64 = 8 * 366 + 1;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The last minute up to `now` at which a schedule was due; `None` if it never was, or it is not a schedule of
/// five fields, a name such as `@daily`, or a number of seconds.
pub fn last_due(schedule: &str, now: i64) -> Option<i64> {
    let schedule = schedule.trim().to_ascii_lowercase();
    let schedule = match schedule.as_str() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        other => other,
    };
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    let [minutes, hours, days, months, weekdays] = match fields[..] {
        [number, "second" | "seconds"] if number.parse::<u8>().is_ok() => return Some(now),
        [minutes, hours, days, months, weekdays] => [minutes, hours, days, months, weekdays],
        _ => return None,
    };
    // A day matches if both fields do, or one of them if neither begins with an asterisk.
    let either = !days.starts_with('*') && !weekdays.starts_with('*');
    let minutes = values(minutes, 0, 59, &[])?;
    let hours = values(hours, 0, 23, &[])?;
    let days = values(days, 1, 31, &[])?;
    let months = values(months, 1, 12, &MONTHS)?;
    let weekdays = values(weekdays, 0, 7, &WEEKDAYS)?;
    let today = now.div_euclid(DAY);
    for day in (today - DAYS..=today).rev() {
        let (month, of_month) = month_and_day(day);
        // 1970-01-01 was a Thursday.
        let weekday = (day + 4).rem_euclid(7) as u32;
        let is_day = has(days, of_month);
        let is_weekday = has(weekdays, weekday) || weekday == 0 && has(weekdays, 7);
        let matches = match either {
            true => is_day || is_weekday,
            false => is_day && is_weekday,
        };
        if !matches || !has(months, month) {
            continue;
        }
        let due = (0..DAY).rev().find(|minute| {
            day * DAY + minute <= now
                && has(hours, (minute / 60) as u32)
                && has(minutes, (minute % 60) as u32)
        });
        if let Some(minute) = due {
            return Some(day * DAY + minute);
        }
    }
    None
}

fn has(values: u64, value: u32) -> bool {
    values >> value & 1 == 1
}

/// The values of a field as bits: a list of values and ranges with steps. Names stand for `low` and those after it.
fn values(field: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| {
        let named = names.iter().position(|name| *name == text);
        let value = match named {
            Some(at) => low + at as u32,
            None => text.parse().ok()?,
        };
        (low..=high).contains(&value).then_some(value)
    };
    let mut bits = 0u64;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from)?, number(to)?),
            None if range == "*" => (low, high),
            None => (number(range)?, number(range)?),
        };
        bits |= (from..=to)
            .step_by(step as usize)
            .fold(0, |bits, value| bits | 1 << value);
    }
    Some(bits)
}

/// Month and day of month of a day since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn month_and_day(day: i64) -> (u32, u32) {
    let day_of_era = (day + 719_468).rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (month as u32, of_month as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25 was a Wednesday.
    const DAY_OF_2026_11_25: i64 = 20_782;

    fn at(day: i64, hour: i64, minute: i64) -> i64 {
        (DAY_OF_2026_11_25 + day) * DAY + hour * 60 + minute
    }

    fn due(schedule: &str) -> Option<i64> {
        last_due(schedule, at(0, 12, 30))
    }

    #[test]
    fn schedules_are_due() {
        assert_eq!(month_and_day(DAY_OF_2026_11_25), (11, 25));
        assert_eq!(due("* * * * *"), Some(at(0, 12, 30)));
        assert_eq!(due("30 2 * * *"), Some(at(0, 2, 30)));
        assert_eq!(due("30 12 * * *"), Some(at(0, 12, 30)));
        assert_eq!(due("31 12 * * *"), Some(at(-1, 12, 31)));
        assert_eq!(due("*/20 * * * *"), Some(at(0, 12, 20)));
        assert_eq!(due("5,10-14/2 6,18 * * *"), Some(at(0, 6, 14)));
        assert_eq!(due("0 4 * * 0"), Some(at(-3, 4, 0)));
        assert_eq!(due("0 4 * * 7"), Some(at(-3, 4, 0)));
        assert_eq!(due("0 4 * * Mon-Tue"), Some(at(-1, 4, 0)));
        assert_eq!(due("0 0 1 * *"), Some(at(-24, 0, 0)));
        assert_eq!(due("0 0 1 * tue"), Some(at(-1, 0, 0)));
        assert_eq!(due("0 0 1 * */2"), Some(at(-24, 0, 0)), "both match");
        assert_eq!(due("0 0 1 jan *"), Some(at(-328, 0, 0)));
        assert_eq!(due("0 0 29 2 *"), Some(at(-1000, 0, 0)));
        assert_eq!(due("@daily"), Some(at(0, 0, 0)));
        assert_eq!(due("@weekly"), Some(at(-3, 0, 0)));
        assert_eq!(due("30 seconds"), Some(at(0, 12, 30)));
        assert_eq!(due("0 0 31 2 *"), None);
    }

    #[test]
    fn what_is_no_schedule_is_never_due() {
        for text in [
            "",
            "at night",
            "60 * * * *",
            "* * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "5-x * * * *",
            "@reboot",
            "* * $ * *",
        ] {
            assert_eq!(due(text), None, "{text}");
        }
    }
}
