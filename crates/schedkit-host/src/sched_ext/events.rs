//! The attached scheduler's counters: one `NAME NUMBER` a line.

use std::collections::BTreeMap;

use serde::Serialize;

/// More than any kernel has; what comes after is left out.
const MOST: usize = 256;
const LONGEST_NAME: usize = 64;

/// Counters by the kernel's names, such as `SCX_EV_DISPATCH_KEEP_LAST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Events(BTreeMap<String, u64>);

impl Events {
    /// Lines that are no counters are passed over: a later kernel may say more.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(counter).take(MOST).collect())
    }

    /// One counter, if this kernel has it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

fn counter(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.trim().split_once(' ')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(plain);
    let count = count.trim().parse().ok()?;
    is_name.then(|| (name.to_owned(), count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counters_are_read_and_the_rest_passed_over() {
        let events = Events::parse(
            "SCX_EV_A 0\nSCX_EV_B 18446744073709551615\n\n# words\nSCX_EV_C -1\nSCX\u{1b}D 2\nE\n",
        );
        let all: Vec<_> = events.iter().collect();
        assert_eq!(all, [("SCX_EV_A", 0), ("SCX_EV_B", u64::MAX)]);
        assert_eq!(events.get("SCX_EV_B"), Some(u64::MAX));
        assert_eq!(events.get("SCX_EV_C"), None);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let many: String = (0..1000).map(|n| format!("EV_{n} {n}\n")).collect();
        assert_eq!(Events::parse(&many).iter().count(), MOST);
    }

    proptest! {
        #[test]
        fn printed_and_parsed_is_the_same(counters: BTreeMap<u8, u64>) {
            let text: String = counters.iter().map(|(n, count)| format!("EV_{n} {count}\n")).collect();
            let events = Events::parse(&text);
            for (n, count) in &counters {
                prop_assert_eq!(events.get(&format!("EV_{n}")), Some(*count));
            }
            prop_assert_eq!(events.iter().count(), counters.len());
        }

        #[test]
        fn no_text_makes_it_stumble(text: String) {
            let _ = Events::parse(&text);
        }
    }
}
