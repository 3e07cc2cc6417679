//! A container of ours, as documents show it. Labels and names come from the runtime: what a
//! person reads of them is made fit to print.

use jiff::Timestamp;
use schedkit_runtime::{Container, ContainerState, Trust};
use serde::Serialize;

use crate::runtimes::name_of;
use crate::status::{Held, scheduler_of};

/// The scheduler that is meant. The first six fields are a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Scheduler {
    pub(super) name: String,
    pub(super) container_id: String,
    pub(super) image: String,
    pub(super) image_id: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) driver: &'static str,
    pub(super) container_name: String,
    /// What was asked for, before it was pinned to a digest.
    pub(super) reference: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) signer: Option<String>,
    /// Fingerprint of the trust policy that accepted it.
    pub(super) policy: Option<String>,
    /// Why no signature was asked for.
    pub(super) waiver: Option<String>,
}

/// Any of them, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) scheduler: Scheduler,
    /// `created`, `running`, `exited`, or the runtime's own word.
    pub(super) state: String,
    pub(super) exit_code: Option<i32>,
}

impl From<&Held> for Scheduler {
    fn from(held: &Held) -> Self {
        let Container {
            id,
            name,
            record,
            image,
            image_id,
            state,
        } = &held.container;
        let (pid, started_at) = match state {
            ContainerState::Running { pid, started } => (Some(*pid), *started),
            ContainerState::Created | ContainerState::Exited(_) | ContainerState::Other(_) => {
                (None, None)
            }
        };
        let (signer, policy, waiver) = match record.trust.clone() {
            Some(Trust::Verified { signer, policy }) => (Some(signer), Some(policy), None),
            Some(Trust::Waived(reason)) => (None, None, Some(reason)),
            None => (None, None, None),
        };
        Self {
            name: scheduler_of(&held.container),
            container_id: id.to_string(),
            image: record.image.clone().unwrap_or_else(|| image.clone()),
            image_id: image_id.clone(),
            pid,
            started_at,
            driver: name_of(held.runtime),
            container_name: name.clone(),
            reference: record.requested.clone(),
            args: record.args.clone(),
            signer,
            policy,
            waiver,
        }
    }
}

impl From<&Held> for Entry {
    fn from(held: &Held) -> Self {
        let (state, exit_code) = match &held.container.state {
            ContainerState::Created => ("created", None),
            ContainerState::Running { .. } => ("running", None),
            ContainerState::Exited(code) => ("exited", Some(code.0)),
            ContainerState::Other(word) => (word.as_str(), None),
        };
        Self {
            scheduler: held.into(),
            state: state.to_owned(),
            exit_code,
        }
    }
}
