//! What the kernel was started with: the parameters that take processors away from schedulers.

use schedkit_core::foreign;
use serde::Serialize;

use crate::fact::Fact;
use crate::root::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/cmdline";
const LIMIT: usize = 64 * 1024;

/// The parameters that matter here; brief and printable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// Processors on which nothing is placed by itself, as in `isolcpus=2-3`.
    pub isolcpus: Option<String>,
    /// Processors without a tick while one task runs, as in `nohz_full=2-3`.
    pub nohz_full: Option<String>,
}

impl CommandLine {
    /// That of the running kernel.
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).map(|text| Self::parse(&text))
    }

    /// Whatever the text says. The last of several counts; what follows `--` is for init.
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        for word in words(text).into_iter().take_while(|word| word != "--") {
            match word.split_once('=') {
                Some(("isolcpus", value)) => line.isolcpus = given(value),
                Some(("nohz_full", value)) => line.nohz_full = given(value),
                _ => {}
            }
        }
        line
    }
}

fn given(value: &str) -> Option<String> {
    let value = foreign::brief(value);
    (!value.is_empty()).then_some(value)
}

/// Blanks divide, unless they stand between double quotes.
fn words(text: &str) -> Vec<String> {
    let mut quoted = false;
    text.trim()
        .split(|character: char| {
            quoted ^= character == '"';
            character.is_whitespace() && !quoted
        })
        .map(|word| word.replace('"', ""))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_found_where_the_kernel_finds_them() {
        for (text, isolated, tickless) in [
            ("root=/dev/sda quiet\n", None, None),
            (
                "isolcpus=managed_irq,2-3 nohz_full=2-3\n",
                Some("managed_irq,2-3"),
                Some("2-3"),
            ),
            ("isolcpus=1 isolcpus=2", Some("2"), None),
            ("dyndbg=\"file a isolcpus=9\" isolcpus=1", Some("1"), None),
            ("myisolcpus=1 isolcpus nohz_full=", None, None),
            ("quiet -- isolcpus=1", None, None),
            ("", None, None),
        ] {
            let line = CommandLine::parse(text);
            assert_eq!(line.isolcpus.as_deref(), isolated, "{text}");
            assert_eq!(line.nohz_full.as_deref(), tickless, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text: String) {
            let _ = CommandLine::parse(&text);
        }
    }
}
