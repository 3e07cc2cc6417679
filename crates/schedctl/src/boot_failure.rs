//! Why the scheduler that is enabled at boot does not run, for `schedctl status`. The unit's
//! `run --attach` writes it when it fails, and deletes it once the kernel has attached the
//! scheduler; `enable` and `disable` delete it, too. One of another boot counts for nothing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state_dir::{StateDir, StateError};

const FILE: &str = "boot-failure.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BootFailure {
    pub(crate) scheduler: String,
    /// In one printable line.
    pub(crate) reason: String,
    pub(crate) at: Timestamp,
    /// `None` if it is unknown.
    #[serde(default)]
    pub(crate) boot_id: Option<String>,
}

impl BootFailure {
    pub(crate) fn read(state: &StateDir) -> Result<Option<Self>, StateError> {
        let failure: Option<Self> = state.load(FILE)?;
        Ok(failure.filter(|failure| state.is_this_boot(failure.boot_id.as_deref())))
    }

    pub(crate) fn save(&self, state: &StateDir) -> Result<(), StateError> {
        state.save(FILE, self)
    }

    pub(crate) fn delete(state: &StateDir) -> Result<(), StateError> {
        state.delete(FILE)
    }

    /// The warning of `schedctl status`.
    pub(crate) fn warning(&self) -> String {
        let Self {
            scheduler,
            reason,
            at,
            boot_id: _,
        } = self;
        let reason = schedkit_core::sanitize::printable(reason);
        format!(
            "{scheduler} is enabled at boot, and its unit failed at {at:.0}: {reason}; `journalctl \
             -u 'schedctl@*'` has more"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_has_the_reason_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(BootFailure::read(&state).unwrap(), None);
        let failure = BootFailure {
            scheduler: "scx_a".to_owned(),
            reason: "no\u{1b}[2J\nregistry".to_owned(),
            at: "2026-01-02T03:04:05.6Z".parse().unwrap(),
            boot_id: Some("one".to_owned()),
        };
        failure.save(&state).unwrap();
        let read = BootFailure::read(&state).unwrap().unwrap();
        let warning = read.warning();
        assert!(
            warning.contains("failed at 2026-01-02T03:04:05Z: no�[2J registry;"),
            "{warning}"
        );
        let of_boot = |id: &str| BootFailure::read(&state.clone().of_boot(id)).unwrap();
        assert_eq!(of_boot("one"), Some(failure));
        assert_eq!(of_boot("two"), None);
        BootFailure::delete(&state).unwrap();
        assert_eq!(BootFailure::read(&state).unwrap(), None);
    }
}
