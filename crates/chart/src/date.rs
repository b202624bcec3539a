//! Dates on an axis, as seconds since 1970.

use crate::scale::{Scale, Tick};

const DAY: f64 = 86_400.0;

/// Year, month and day of a number of days since 1970, of the Gregorian calendar. After Howard Hinnant,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// A date to the minute.
pub(crate) fn date(at: f64) -> String {
    let (year, month, day) = civil((at / DAY).floor() as i64);
    let minutes = (at.rem_euclid(DAY) / 60.0).floor() as i64;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        minutes / 60,
        minutes % 60
    )
}

/// Ticks of an axis of dates: at most some five, at days, or at times within one.
pub(crate) fn date_ticks(across: &Scale) -> (Vec<Tick>, String) {
    let (Scale::Linear { from, to } | Scale::Log { from, to, .. }) = *across;
    let steps = [
        1.0,
        5.0,
        15.0,
        60.0,
        300.0,
        900.0,
        3600.0,
        3.0 * 3600.0,
        6.0 * 3600.0,
        12.0 * 3600.0,
    ];
    let days = [
        1.0, 2.0, 7.0, 14.0, 30.0, 60.0, 90.0, 180.0, 365.0, 730.0, 3650.0,
    ]
    .map(|days| days * DAY);
    let rough = (to - from) / 5.0;
    let mut all = steps.into_iter().chain(days);
    let step = all.find(|step| *step >= rough).unwrap_or(36_500.0 * DAY);
    let first = (from / step).ceil();
    let count = ((to / step).floor() - first).clamp(-1.0, 10.0) as i64;
    let moments = (0..=count).map(|i| (first + i as f64) * step);
    let is_of_day = step < DAY;
    let ticks = moments.map(|at| {
        let label = date(at);
        let (day, time) = label.split_at(10);
        let label = match is_of_day {
            true if step < 60.0 => format!("{}:{:02}", time.trim_start(), at.rem_euclid(60.0)),
            true => time.trim_start().to_owned(),
            false => day.to_owned(),
        };
        Tick {
            at: across.at(at),
            label,
        }
    });
    let unit = match is_of_day {
        true => format!("time, from {}", &date(from)[..10]),
        false => "date".to_owned(),
    };
    (ticks.collect(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0.0), "1970-01-01 00:00");
        assert_eq!(date(1_709_164_800.0 + 3661.0), "2024-02-29 01:01");
        assert_eq!(date(-1.0), "1969-12-31 23:59");
        assert_eq!(date(1_798_761_599.0), "2026-12-31 23:59");
    }

    #[test]
    fn ticks_are_days_or_times() {
        let labels = |from, to| {
            let (ticks, unit) = date_ticks(&Scale::Linear { from, to });
            let labels: Vec<String> = ticks.into_iter().map(|tick| tick.label).collect();
            (labels.join(" "), unit)
        };
        let day = 1_709_164_800.0;
        assert_eq!(
            labels(day, day + 3.0 * DAY),
            (
                "2024-02-29 2024-03-01 2024-03-02 2024-03-03".into(),
                "date".into()
            )
        );
        assert_eq!(labels(day, day + 12.0).0, "00:00:00 00:00:05 00:00:10");
        assert_eq!(
            labels(day + 60.0, day + 3600.0),
            (
                "00:15 00:30 00:45 01:00".into(),
                "time, from 2024-02-29".into()
            )
        );
    }
}
