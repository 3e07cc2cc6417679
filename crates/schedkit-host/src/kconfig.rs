//! The configuration of the running kernel: the options that schedulers depend on.
//!
//! A kernel may have it in `/proc/config.gz`, a distribution in `/boot/config-RELEASE` or
//! `/lib/modules/RELEASE/config`; the first that can be read counts. The source is kept, because
//! libbpf, which most schedulers use, reads the first two only.

mod source;

use std::collections::BTreeMap;

use schedkit_core::KernelRelease;
use serde::{Serialize, Serializer};

pub use source::ConfigSource;

use crate::fact::Fact;
use crate::root_folder::HostRoot;

/// The options that the checks use; the thousands of others are not kept.
pub const KEPT_OPTIONS: &[&str] = &[
    "BPF",
    "BPF_JIT",
    "BPF_JIT_ALWAYS_ON",
    "BPF_SYSCALL",
    "DEBUG_INFO_BTF",
    "PREEMPT_RT",
    "SCHED_CLASS_EXT",
];
const PREFIX: &str = "CONFIG_";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelConfig {
    pub source: ConfigSource,
    /// Those of [`KEPT_OPTIONS`] that the configuration mentions, without `CONFIG_`.
    options: BTreeMap<String, OptionValue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    Yes,
    Module,
    No,
    /// A number or a string.
    Value(String),
}

impl KernelConfig {
    /// Reads the configuration of this release from the first source that has it.
    pub fn read(root: &HostRoot, release: Option<&KernelRelease>) -> Fact<Self> {
        let mut found = Fact::Absent;
        for source in ConfigSource::all(release) {
            let text = source.read(root);
            let config = text.and_then(|text| match Self::parse(source, &text) {
                Some(config) => Fact::Known(config),
                None => Fact::malformed("no CONFIG_ lines"),
            });
            match config {
                Fact::Known(_) => return config,
                // The first problem explains most, unless a later source is readable.
                problem if found == Fact::Absent => found = problem,
                _ => {}
            }
        }
        found
    }

    /// `None` when the text has no line of a kernel configuration.
    pub fn parse(source: ConfigSource, text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(option).peekable();
        lines.peek()?;
        let kept = lines.filter(|(name, _)| KEPT_OPTIONS.contains(name));
        let options = kept.map(|(name, value)| (name.to_owned(), value));
        Some(Self {
            source,
            options: options.collect(),
        })
    }

    /// The option is named without `CONFIG_`. One that is not mentioned is not set.
    pub fn value(&self, option: &str) -> &OptionValue {
        self.options.get(option).unwrap_or(&OptionValue::No)
    }

    /// Whether an option is built in or a module.
    pub fn has(&self, option: &str) -> bool {
        matches!(self.value(option), OptionValue::Yes | OptionValue::Module)
    }
}

impl Serialize for OptionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Yes => "y",
            Self::Module => "m",
            Self::No => "n",
            Self::Value(text) => text,
        })
    }
}

/// `CONFIG_NAME=value` or `# CONFIG_NAME is not set`.
fn option(line: &str) -> Option<(&str, OptionValue)> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('#') {
        let name = rest.trim().strip_suffix(" is not set")?;
        return Some((name.strip_prefix(PREFIX)?, OptionValue::No));
    }
    let (name, text) = line.strip_prefix(PREFIX)?.split_once('=')?;
    let value = match text {
        "y" => OptionValue::Yes,
        "m" => OptionValue::Module,
        "n" => OptionValue::No,
        other => OptionValue::Value(schedkit_core::sanitize::brief(other.trim_matches('"'))),
    };
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Option<KernelConfig> {
        KernelConfig::parse(ConfigSource::Proc, text)
    }

    #[test]
    fn options_are_parsed() {
        let text = "#\n# Linux/x86 6.18.15 Kernel Configuration\n#\nCONFIG_BPF=y\nCONFIG_BPF_JIT=m\n\
                    # CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_BPF_SYSCALL=\"odd\"\nCONFIG_HZ=250\n\
                    CONFIG_BPFX=y\n# CONFIG_PREEMPT_RT is a pity\n";
        let config = parse(text).unwrap();
        assert_eq!(*config.value("BPF"), OptionValue::Yes);
        assert_eq!(*config.value("BPF_JIT"), OptionValue::Module);
        assert_eq!(*config.value("SCHED_CLASS_EXT"), OptionValue::No);
        assert_eq!(
            *config.value("BPF_SYSCALL"),
            OptionValue::Value("odd".to_owned())
        );
        assert_eq!(
            config.options.len(),
            4,
            "options that no check uses are not kept"
        );
        assert!(config.has("BPF") && config.has("BPF_JIT"));
        assert!(!config.has("BPF_SYSCALL") && !config.has("DEBUG_INFO_BTF"));
    }

    #[test]
    fn a_text_without_options_is_not_a_configuration() {
        for text in ["", "hello\n", "# CONFIG_\n", "CONFIG_BPF\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert!(parse("CONFIG_HZ=250\n").unwrap().options.is_empty());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn comments_around_an_option_change_nothing(before in "(#[^\n]{0,20}\n){0,3}", after in "(#[^\n]{0,20}\n){0,3}") {
            prop_assume!(!before.contains("CONFIG") && !after.contains("CONFIG"));
            let config = parse(&format!("{before}CONFIG_BPF=y\n{after}")).unwrap();
            prop_assert_eq!(config.value("BPF"), &OptionValue::Yes);
        }
    }
}
