//! The signal that asks a scheduler to exit: its image's STOPSIGNAL, or SIGTERM. Pure.

/// Numbers 1 to 31 of Linux on x86-64 and arm64.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
const SIGTERM: u32 = 15;
/// As libc counts them.
const RTMIN: u32 = 34;
const RTMAX: u32 = 64;

/// A signal number from 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopSignal(u32);

impl Default for StopSignal {
    fn default() -> Self {
        Self(SIGTERM)
    }
}

impl StopSignal {
    /// Parses `SIGINT`, `int`, `2`, `SIGRTMIN+3`, `RTMAX-1`; an unknown one is SIGTERM.
    pub(crate) fn parse(text: &str) -> Self {
        let upper = text.trim().to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        let number = match (name.strip_prefix("RTMIN"), name.strip_prefix("RTMAX")) {
            (Some(""), _) => Some(RTMIN),
            (_, Some("")) => Some(RTMAX),
            (Some(more), _) => offset(more, '+').and_then(|more| RTMIN.checked_add(more)),
            (_, Some(less)) => offset(less, '-').and_then(|less| RTMAX.checked_sub(less)),
            (None, None) => match NAMES.iter().position(|known| *known == name) {
                Some(position) => u32::try_from(position + 1).ok(),
                None => name.parse().ok(),
            },
        };
        let valid = number.filter(|number| (1..=RTMAX).contains(number));
        valid.map_or_else(Self::default, Self)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

fn offset(text: &str, sign: char) -> Option<u32> {
    text.strip_prefix(sign)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_numbers_are_parsed_and_the_rest_is_sigterm() {
        for (text, number) in [
            ("SIGINT", 2),
            ("int", 2),
            (" 3 ", 3),
            ("SIGSYS", 31),
            ("SIGRTMIN+3", 37),
            ("RTMAX-1", 63),
            ("rtmin", 34),
            ("SIGTERM", 15),
            ("", 15),
            ("0", 15),
            ("65", 15),
            ("RTMIN+99", 15),
            ("RTMAX-99", 15),
            ("SIGNONE", 15),
            ("-9", 15),
        ] {
            assert_eq!(StopSignal::parse(text).number(), number, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_a_signal(text: String) {
            prop_assert!((1..=64).contains(&StopSignal::parse(&text).number()));
        }
    }
}
