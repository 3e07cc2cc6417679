//! A container of schedctl, as a runtime lists it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ownership::Ownership;
use crate::record::Record;

/// The id that a runtime gave a container; opaque to us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerId(String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub id: ContainerId,
    pub name: String,
    pub ownership: Ownership,
    /// From its labels; empty unless it is ours.
    pub record: Record,
    /// As the runtime names it.
    pub image: String,
    /// The image's id in the runtime's store, where it has one.
    pub image_id: Option<String>,
    pub state: ContainerState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// Not started yet.
    Created,
    Running {
        /// In the host's PID namespace.
        pid: u32,
        /// `None` where the runtime does not report it.
        started: Option<Timestamp>,
    },
    Exited(ExitCode),
    /// Another state, under the runtime's name for it.
    Other(String),
}

/// The exit code of a process, or 128 plus the number of the signal that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCode(pub i32);

impl ContainerId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits of a hash, or the whole of a chosen name.
    pub fn short(&self) -> &str {
        match self.0.get(..12) {
            Some(short) if self.0.chars().all(|c| c.is_ascii_hexdigit()) => short,
            _ => &self.0,
        }
    }
}

impl Container {
    /// The process id of the scheduler, while it runs.
    pub fn pid(&self) -> Option<u32> {
        match self.state {
            ContainerState::Running { pid, .. } => Some(pid),
            ContainerState::Created | ContainerState::Exited(_) | ContainerState::Other(_) => None,
        }
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_shortened_and_names_are_not() {
        let short = |id: &str| ContainerId::new(id).short().to_owned();
        assert_eq!(short(&"0123456789abcdef".repeat(4)), "0123456789ab");
        assert_eq!(
            short("schedkit-scx_lavd-0a1b2c3d"),
            "schedkit-scx_lavd-0a1b2c3d"
        );
        assert_eq!(short("abc"), "abc");
    }
}
