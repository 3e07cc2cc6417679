//! A container, as documents show it. Labels and names come from the runtime; texts make them
//! printable.

use jiff::Timestamp;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, ContainerState, Ownership};
use serde::Serialize;

use super::trust_basis::TrustBasis;
use crate::container::RuntimeContainer;

/// The first six fields are part of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SchedulerDocument {
    pub(super) name: String,
    pub(super) container_id: String,
    pub(super) image: String,
    image_id: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) driver: Runtime,
    pub(super) container_name: String,
    /// Whether that is certain. Otherwise its labels are not believed.
    created_by_schedctl: bool,
    /// As requested, before it was resolved to a digest.
    pub(super) reference: Option<String>,
    pub(super) args: Vec<String>,
    #[serde(flatten)]
    pub(super) trust: TrustBasis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ContainerDocument {
    #[serde(flatten)]
    pub(super) scheduler: SchedulerDocument,
    /// `created`, `running`, `exited`, or the runtime's name for another state.
    state: String,
    exit_code: Option<i32>,
}

impl ContainerDocument {
    /// The state for people: `running`, `exited (1)`.
    pub(super) fn state_text(&self) -> String {
        match self.exit_code {
            Some(code) => format!("{} ({code})", self.state),
            None => self.state.clone(),
        }
    }
}

impl From<&RuntimeContainer> for SchedulerDocument {
    fn from(found: &RuntimeContainer) -> Self {
        let Container {
            id,
            name,
            ownership,
            record,
            image,
            image_id,
            state,
        } = &found.container;
        let (pid, started_at) = match state {
            ContainerState::Running { pid, started } => (Some(*pid), *started),
            ContainerState::Created | ContainerState::Exited(_) | ContainerState::Other(_) => {
                (None, None)
            }
        };
        Self {
            name: found.scheduler(),
            container_id: id.to_string(),
            image: record.image.clone().unwrap_or_else(|| image.clone()),
            image_id: image_id.clone(),
            pid,
            started_at,
            driver: found.runtime,
            container_name: name.clone(),
            created_by_schedctl: *ownership == Ownership::Ours,
            reference: record.requested.clone(),
            args: record.args.clone(),
            trust: record.trust.as_ref().into(),
        }
    }
}

impl From<&RuntimeContainer> for ContainerDocument {
    fn from(found: &RuntimeContainer) -> Self {
        let (state, exit_code) = match &found.container.state {
            ContainerState::Created => ("created", None),
            ContainerState::Running { .. } => ("running", None),
            ContainerState::Exited(code) => ("exited", Some(code.0)),
            ContainerState::Other(name) => (name.as_str(), None),
        };
        Self {
            scheduler: found.into(),
            state: state.to_owned(),
            exit_code,
        }
    }
}
