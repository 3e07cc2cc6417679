//! The counters of the attached scheduler: one `NAME NUMBER` per line.

use std::collections::BTreeMap;

use serde::Serialize;

/// More than any kernel has; the rest is ignored.
const MAX_COUNTERS: usize = 256;
const MAX_NAME: usize = 64;

/// Counters by the kernel's names, such as `SCX_EV_DISPATCH_KEEP_LAST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Events(BTreeMap<String, u64>);

impl Events {
    /// Ignores lines that are not counters: a later kernel may have more.
    pub fn parse(text: &str) -> Self {
        Self(
            text.lines()
                .filter_map(counter)
                .take(MAX_COUNTERS)
                .collect(),
        )
    }

    /// `None` when this kernel does not have the counter.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

fn counter(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.trim().split_once(' ')?;
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_valid);
    let count = count.trim().parse().ok()?;
    is_name.then(|| (name.to_owned(), count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counters_are_parsed_and_other_lines_ignored() {
        let events = Events::parse(
            "SCX_EV_A 0\nSCX_EV_B 18446744073709551615\n\n# text\nSCX_EV_C -1\nSCX\u{1b}D 2\nE\n",
        );
        let all: Vec<_> = events.iter().collect();
        assert_eq!(all, [("SCX_EV_A", 0), ("SCX_EV_B", u64::MAX)]);
        assert_eq!(events.get("SCX_EV_B"), Some(u64::MAX));
        assert_eq!(events.get("SCX_EV_C"), None);
    }

    #[test]
    fn the_number_of_counters_is_limited() {
        let many: String = (0..1000).map(|n| format!("EV_{n} {n}\n")).collect();
        assert_eq!(Events::parse(&many).iter().count(), MAX_COUNTERS);
    }

    proptest! {
        #[test]
        fn display_and_parse_round_trip(counters: BTreeMap<u8, u64>) {
            let text: String = counters.iter().map(|(n, count)| format!("EV_{n} {count}\n")).collect();
            let events = Events::parse(&text);
            for (n, count) in &counters {
                prop_assert_eq!(events.get(&format!("EV_{n}")), Some(*count));
            }
            prop_assert_eq!(events.iter().count(), counters.len());
        }

        #[test]
        fn parsing_never_panics(text: String) {
            let _ = Events::parse(&text);
        }
    }
}
