//! How the running kernel was built: the options that schedulers depend on.
//!
//! A kernel tells in `/proc/config.gz`, a distribution in `/boot/config-RELEASE` or
//! `/lib/modules/RELEASE/config`; the first that can be read counts. Which one it was is kept:
//! libbpf looks in the first two only, and most schedulers ask libbpf.

mod source;

use std::collections::BTreeMap;

use schedkit_core::KernelRelease;
use serde::{Serialize, Serializer};

pub use source::Source;

use crate::fact::Fact;
use crate::root::HostRoot;

/// Options that anybody here asks about; the thousands of others are not kept.
pub const ASKED: &[&str] = &[
    "BPF",
    "BPF_JIT",
    "BPF_JIT_ALWAYS_ON",
    "BPF_SYSCALL",
    "DEBUG_INFO_BTF",
    "PREEMPT_RT",
    "SCHED_CLASS_EXT",
];
const PREFIX: &str = "CONFIG_";

/// The options of [`ASKED`] that a configuration mentions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelConfig {
    /// Where it was read.
    pub source: Source,
    /// Without `CONFIG_`.
    options: BTreeMap<String, Setting>,
}

/// How an option is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Built in.
    Yes,
    /// As a module.
    Module,
    /// Not set.
    No,
    /// A number or a text.
    Value(String),
}

impl KernelConfig {
    /// The configuration of this release, from the first source that has it.
    pub fn read(root: &HostRoot, release: Option<&KernelRelease>) -> Fact<Self> {
        let mut found = Fact::Absent;
        for source in Source::all(release) {
            let text = source.read(root);
            let config = text.and_then(|text| match Self::parse(source, &text) {
                Some(config) => Fact::Known(config),
                None => Fact::strange("no CONFIG_ lines"),
            });
            match config {
                Fact::Known(_) => return config,
                // The first trouble is the best explanation when nothing better comes.
                trouble if found == Fact::Absent => found = trouble,
                _ => {}
            }
        }
        found
    }

    /// The options of [`ASKED`] in a configuration; nothing when it is no configuration at all.
    pub fn parse(source: Source, text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(option).peekable();
        lines.peek()?;
        let kept = lines.filter(|(name, _)| ASKED.contains(name));
        let options = kept.map(|(name, setting)| (name.to_owned(), setting));
        Some(Self {
            source,
            options: options.collect(),
        })
    }

    /// How an option is set, named without `CONFIG_`. Not mentioned is not set.
    pub fn setting(&self, option: &str) -> &Setting {
        self.options.get(option).unwrap_or(&Setting::No)
    }

    /// Whether an option is built in or a module.
    pub fn has(&self, option: &str) -> bool {
        matches!(self.setting(option), Setting::Yes | Setting::Module)
    }
}

impl Serialize for Setting {
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
fn option(line: &str) -> Option<(&str, Setting)> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('#') {
        let name = rest.trim().strip_suffix(" is not set")?;
        return Some((name.strip_prefix(PREFIX)?, Setting::No));
    }
    let (name, value) = line.strip_prefix(PREFIX)?.split_once('=')?;
    let setting = match value {
        "y" => Setting::Yes,
        "m" => Setting::Module,
        "n" => Setting::No,
        other => Setting::Value(schedkit_core::foreign::brief(other.trim_matches('"'))),
    };
    Some((name, setting))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Option<KernelConfig> {
        KernelConfig::parse(Source::Proc, text)
    }

    #[test]
    fn options_are_read_as_the_kernel_writes_them() {
        let text = "#\n# Linux/x86 6.18.15 Kernel Configuration\n#\nCONFIG_BPF=y\nCONFIG_BPF_JIT=m\n\
                    # CONFIG_SCHED_CLASS_EXT is not set\nCONFIG_BPF_SYSCALL=\"odd\"\nCONFIG_HZ=250\n\
                    CONFIG_BPFX=y\n# CONFIG_PREEMPT_RT is a pity\n";
        let config = parse(text).unwrap();
        assert_eq!(*config.setting("BPF"), Setting::Yes);
        assert_eq!(*config.setting("BPF_JIT"), Setting::Module);
        assert_eq!(*config.setting("SCHED_CLASS_EXT"), Setting::No);
        assert_eq!(
            *config.setting("BPF_SYSCALL"),
            Setting::Value("odd".to_owned())
        );
        assert_eq!(config.options.len(), 4, "what nobody asks is not kept");
        assert!(config.has("BPF") && config.has("BPF_JIT"));
        assert!(!config.has("BPF_SYSCALL") && !config.has("DEBUG_INFO_BTF"));
    }

    #[test]
    fn what_has_no_options_is_no_configuration() {
        for text in ["", "hello\n", "# CONFIG_\n", "CONFIG_BPF\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert!(parse("CONFIG_HZ=250\n").unwrap().options.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_stumble(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn noise_around_an_option_changes_nothing(before in "(#[^\n]{0,20}\n){0,3}", after in "(#[^\n]{0,20}\n){0,3}") {
            prop_assume!(!before.contains("CONFIG") && !after.contains("CONFIG"));
            let config = parse(&format!("{before}CONFIG_BPF=y\n{after}")).unwrap();
            prop_assert_eq!(config.setting("BPF"), &Setting::Yes);
        }
    }
}
