//! What the checks need beside the machine: the state of the container runtimes and the requirements
//! of an image. The caller connects to sockets and reads registries.

use schedkit_core::{KernelRelease, sanitize};

use crate::architecture::Architecture;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    pub podman: Socket,
    pub containerd: Socket,
    /// Of the image that is to run, if there is one.
    pub image: Option<ImageRequirements>,
}

/// The API socket of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    pub path: String,
    pub reachability: Reachability,
}

/// The result of connecting to a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reachability {
    Reachable,
    /// With the reason.
    Unreachable(String),
    NotChecked,
}

/// The requirements in the labels and the configuration of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRequirements {
    pub min_kernel: MinKernel,
    /// Empty when the image does not name any.
    pub architectures: Vec<Architecture>,
}

/// The minimum kernel of an image, from its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MinKernel {
    Unspecified,
    Release(KernelRelease),
    /// The label is not a kernel release; shortened and printable.
    Malformed(String),
}

impl MinKernel {
    /// Parses the label `org.schedkit.scheduler.kernel.min-version`.
    pub fn parse(label: &str) -> Self {
        let text = label.trim();
        if text.is_empty() {
            return Self::Unspecified;
        }
        match text.strip_prefix('v').unwrap_or(text).parse() {
            Ok(release) => Self::Release(release),
            Err(_) => Self::Malformed(sanitize::brief(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_release_or_kept_as_text() {
        let release = |text: &str| MinKernel::Release(text.parse().unwrap());
        for (label, expected) in [
            ("6.12", release("6.12")),
            (" v6.14.2\n", release("6.14.2")),
            ("", MinKernel::Unspecified),
            ("new", MinKernel::Malformed("new".to_owned())),
        ] {
            assert_eq!(MinKernel::parse(label), expected, "{label:?}");
        }
    }
}
