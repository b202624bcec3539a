//! Colors of series: which of the style sheet's colors each has.

/// Number of colors of series. More series are drawn, or added up, as others.
pub(crate) const SERIES: usize = 7;

/// The name of what is added up.
pub(crate) const OTHERS: &str = "others";

/// Colors of classes of waits, which are the same in all charts. Where two of one color are drawn, the second one
/// has a free color.
const WAITS: [(&str, usize); 9] = [
    ("IO", 0),
    ("Lock", 1),
    ("not waiting", 2),
    ("IPC", 3),
    ("LWLock", 4),
    ("Client", 5),
    ("Timeout", 6),
    ("Extension", 6),
    (OTHERS, SERIES),
];

/// The class of the color of the `i`th thing; things beyond [`SERIES`] have that of others.
pub(crate) fn color(i: usize) -> String {
    format!("s{}", i.min(SERIES))
}

/// The classes of the colors of things by their names: that of its class for a wait, such as `wait: IO`, and for
/// others the next one that none of them has.
pub(crate) fn colors(names: &[&str]) -> Vec<String> {
    let of_wait = |name: &str| {
        let is_of = |class: &str| {
            let before = name.strip_suffix(class);
            before.is_some_and(|before| {
                before.is_empty() || before.ends_with("wait: ") || before.ends_with("wait ")
            })
        };
        let known = WAITS.iter().find(|(class, _)| is_of(class));
        known.map(|(_, color)| *color)
    };
    let mut fixed: Vec<Option<usize>> = Vec::new();
    for name in names {
        let color = of_wait(name).filter(|color| !fixed.contains(&Some(*color)));
        fixed.push(color);
    }
    let mut free = (0..SERIES).filter(|color| !fixed.contains(&Some(*color)));
    let chosen = fixed.iter();
    chosen
        .map(|fixed| color(fixed.or_else(|| free.next()).unwrap_or(SERIES)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_waits_has_one_color() {
        assert_eq!(colors(&["Lock", "IO"]), ["s1", "s0"]);
        assert_eq!(colors(&["IO", "BufferPin", "Lock"]), ["s0", "s2", "s1"]);
        assert_eq!(
            colors(&["executor", "wait: IO", "server: wait Lock", "commit"]),
            ["s2", "s0", "s1", "s3"]
        );
        assert_eq!(colors(&["user", "system"]), ["s0", "s1"]);
        assert_eq!(colors(&["LWLock", "others"]), ["s4", "s7"]);
    }

    #[test]
    fn no_color_is_used_twice() {
        for names in [
            WAITS.map(|(class, _)| class).as_slice()[1..].to_vec(),
            vec![
                "Extension",
                "a",
                "b",
                "c",
                "d",
                "Timeout",
                "wait: Timeout",
                OTHERS,
            ],
            vec!["IO", "wait: IO", "server: wait IO"],
        ] {
            let mut all = colors(&names);
            all.sort();
            all.dedup();
            assert_eq!(all.len(), names.len(), "{names:?}");
        }
    }
}
