//! The kernel's command line: the parameters that take CPUs away from schedulers.

use schedkit_core::sanitize;
use serde::Serialize;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/cmdline";
const LIMIT: usize = 64 * 1024;

/// The parameters that the checks use; shortened and printable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// CPUs on which the kernel places no task by itself, as in `isolcpus=2-3`.
    pub isolcpus: Option<String>,
    /// CPUs without a tick while one task runs, as in `nohz_full=2-3`.
    pub nohz_full: Option<String>,
}

impl CommandLine {
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).map(|text| Self::parse(&text))
    }

    /// The last of several counts; what follows `--` is for init.
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        for parameter in parameters(text)
            .into_iter()
            .take_while(|parameter| parameter != "--")
        {
            match parameter.split_once('=') {
                Some(("isolcpus", value)) => line.isolcpus = non_empty(value),
                Some(("nohz_full", value)) => line.nohz_full = non_empty(value),
                _ => {}
            }
        }
        line
    }
}

fn non_empty(value: &str) -> Option<String> {
    let value = sanitize::brief(value);
    (!value.is_empty()).then_some(value)
}

/// Split at blanks that are not between double quotes.
fn parameters(text: &str) -> Vec<String> {
    let mut quoted = false;
    text.trim()
        .split(|character: char| {
            quoted ^= character == '"';
            character.is_whitespace() && !quoted
        })
        .map(|parameter| parameter.replace('"', ""))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_are_parsed_as_the_kernel_parses_them() {
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
        fn parsing_never_panics(text: String) {
            let _ = CommandLine::parse(&text);
        }
    }
}
