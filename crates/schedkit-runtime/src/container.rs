//! A container of ours as a runtime shows it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Under which name a runtime knows a container; its own choice, opaque to us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerId(String);

/// One container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The runtime's name for it.
    pub id: ContainerId,
    /// What people call it.
    pub name: String,
    /// What whoever started it wrote down about it.
    pub record: Record,
    /// The image as the runtime names it.
    pub image: String,
    /// The image's id in the runtime's own store, where it has one.
    pub image_id: Option<String>,
    /// What it does now.
    pub state: State,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Made, and not started yet.
    Created,
    /// Its process runs.
    Running {
        /// In the host's numbers.
        pid: u32,
        /// Since when, where the runtime tells.
        started: Option<Timestamp>,
    },
    /// Its process is gone.
    Exited(ExitCode),
    /// Something else, in the runtime's words.
    Other(String),
}

/// How a process ended: its own code, or 128 and the signal's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCode(pub i32);

impl ContainerId {
    /// From the runtime's answer.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As much as people need to tell two of them apart: twelve digits of a hash; of a name that
    /// somebody chose, all of it.
    pub fn short(&self) -> &str {
        match self.0.get(..12) {
            Some(short) if self.0.chars().all(|c| c.is_ascii_hexdigit()) => short,
            _ => &self.0,
        }
    }
}

impl Container {
    /// The process of the scheduler, while it runs.
    pub fn pid(&self) -> Option<u32> {
        match self.state {
            State::Running { pid, .. } => Some(pid),
            State::Created | State::Exited(_) | State::Other(_) => None,
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
