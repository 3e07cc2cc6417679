//! What a machine is held against: the container runtimes that were asked, and what an image
//! demands.
//!
//! Given in as facts: nothing here connects to a socket or asks a registry.

use schedkit_core::{KernelRelease, foreign};

use crate::architecture::Architecture;

/// What is needed beside a fitting kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Podman's API.
    pub podman: Socket,
    /// containerd's API.
    pub containerd: Socket,
    /// The image that is to run, when one is meant.
    pub image: Option<ImageNeeds>,
}

/// A runtime's socket and whether somebody answered there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its path.
    pub path: String,
    /// What happened when it was tried.
    pub reach: Reach,
}

/// What happened when a socket was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Somebody answered.
    Reachable,
    /// Nobody did; why, as the end of a sentence.
    Unreachable(String),
    /// It was not tried.
    Untried,
}

/// What an image says that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageNeeds {
    /// The oldest kernel.
    pub kernel: KernelFloor,
    /// The machines that it was built for; none when it does not say.
    pub architectures: Vec<Architecture>,
}

/// The oldest kernel that an image runs on, from its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelFloor {
    /// It does not say.
    Unstated,
    /// This one.
    Release(KernelRelease),
    /// It says something that is no kernel release; brief and printable.
    Strange(String),
}

impl KernelFloor {
    /// From the text of the label `org.schedkit.scheduler.kernel.min-version`.
    pub fn parse(label: &str) -> Self {
        let text = label.trim();
        if text.is_empty() {
            return Self::Unstated;
        }
        match text.strip_prefix('v').unwrap_or(text).parse() {
            Ok(release) => Self::Release(release),
            Err(_) => Self::Strange(foreign::brief(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_a_release_or_says_what_it_is() {
        let release = |text: &str| KernelFloor::Release(text.parse().unwrap());
        for (label, floor) in [
            ("6.12", release("6.12")),
            (" v6.14.2\n", release("6.14.2")),
            ("", KernelFloor::Unstated),
            ("new", KernelFloor::Strange("new".to_owned())),
        ] {
            assert_eq!(KernelFloor::parse(label), floor, "{label:?}");
        }
    }
}
