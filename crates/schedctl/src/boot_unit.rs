//! Tells systemd and `schedctl status` how the start of a unit goes. Does nothing where there is no
//! service manager; only what runs as the unit of `schedctl enable` is kept for `status`.

use std::ffi::OsString;

use jiff::Timestamp;

use crate::boot_failure::BootFailure;
use crate::error_text;
use crate::execute::{FailureCause, PlanFailure};
use crate::interrupt::Interrupted;
use crate::service_manager::ServiceManager;
use crate::state_dir::StateDir;

pub(crate) struct BootUnit {
    pub(crate) service_manager: ServiceManager,
    enabled: Option<Enabled>,
}

/// This process is the unit's.
struct Enabled {
    scheduler: String,
    state: StateDir,
}

impl BootUnit {
    /// For `run --attach --enabled`. `socket` is the value of `NOTIFY_SOCKET`.
    pub(crate) fn enabled(scheduler: &str, socket: Option<OsString>, state: StateDir) -> Self {
        let scheduler = scheduler.to_owned();
        Self {
            service_manager: ServiceManager::at(socket),
            enabled: Some(Enabled { scheduler, state }),
        }
    }

    /// For every other start.
    pub(crate) fn other(service_manager: ServiceManager) -> Self {
        Self {
            service_manager,
            enabled: None,
        }
    }

    pub(crate) fn attached(&self, scheduler: &str) {
        let status = format!("the kernel has attached {scheduler}");
        self.service_manager.ready(&status);
        if let Some(Enabled { state, .. }) = &self.enabled {
            let _ = BootFailure::delete(state);
        }
    }

    /// A start that a signal ended was ended by somebody, which is no failure to tell of later.
    pub(crate) fn failed(&self, error: &anyhow::Error) {
        let reason = error_text::one_line(error.as_ref());
        if was_interrupted(error) {
            self.service_manager.failed(&reason);
        } else {
            self.ended(&reason);
        }
    }

    /// The scheduler ended unasked, or could not be started.
    pub(crate) fn ended(&self, reason: &str) {
        self.service_manager.failed(reason);
        if let Some(Enabled { scheduler, state }) = &self.enabled {
            let failure = BootFailure {
                scheduler: scheduler.clone(),
                reason: reason.to_owned(),
                at: Timestamp::now(),
                boot_id: state.boot_id().map(str::to_owned),
            };
            // The journal has the reason as well.
            let _ = failure.save(state);
        }
    }
}

fn was_interrupted(error: &anyhow::Error) -> bool {
    let plan = error.downcast_ref::<PlanFailure>();
    error.is::<Interrupted>()
        || plan.is_some_and(|plan| matches!(plan.cause, FailureCause::Interrupted(_)))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_is_kept_for_status_unless_somebody_asked_for_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path()).of_boot("one");
        let unit = BootUnit::enabled("scx_a", None, state.clone());
        let kept = || BootFailure::read(&state).unwrap();
        let of_plan = PlanFailure {
            cause: Interrupted::Terminate.into(),
            rollback: Vec::new(),
        };
        for asked in [
            anyhow!(of_plan),
            anyhow!(Interrupted::Terminate),
            anyhow!(Interrupted::Interrupt).context("nothing was done"),
        ] {
            unit.failed(&asked);
            assert_eq!(kept(), None, "{asked:#}");
        }
        unit.failed(&anyhow!("no registry").context("not verified"));
        let failure = kept().unwrap();
        assert_eq!(failure.scheduler, "scx_a");
        assert_eq!(failure.reason, "not verified: no registry");
        assert_eq!(failure.boot_id.as_deref(), Some("one"));
        unit.attached("scx_a");
        assert_eq!(kept(), None);
    }

    #[test]
    fn a_start_by_hand_is_not_the_units() {
        BootUnit::other(ServiceManager::default()).failed(&anyhow!("no registry"));
    }
}
