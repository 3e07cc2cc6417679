//! The result of comparing containers with the kernel's state.

use serde::Serialize;

use crate::container::RuntimeContainer;
use crate::sked::SkedPod;

/// The names and exit codes are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    Idle,
    Running,
    OrphanedKernelState,
    ManagedDetached,
    ManagedMismatch,
    MultipleManaged,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Assessment<'a> {
    pub(crate) status: Status,
    /// The container that the status is about, if any.
    pub(crate) container: Option<&'a RuntimeContainer>,
    /// The pod that the status is about, if the scheduler is sked's.
    pub(crate) sked: Option<&'a SkedPod>,
    /// How containers and kernel differ, and what to do.
    pub(crate) discrepancy: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Assessment<'a> {
    pub(super) fn consistent(status: Status, container: Option<&'a RuntimeContainer>) -> Self {
        Self {
            status,
            container,
            sked: None,
            discrepancy: None,
            warnings: Vec::new(),
        }
    }

    pub(super) fn discrepant(
        status: Status,
        container: Option<&'a RuntimeContainer>,
        discrepancy: String,
    ) -> Self {
        Self {
            discrepancy: Some(discrepancy),
            ..Self::consistent(status, container)
        }
    }

    pub(super) fn warn(mut self, warning: String) -> Self {
        self.warnings.push(warning);
        self
    }
}
