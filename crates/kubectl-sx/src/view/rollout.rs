//! How far the roll-out of one SchedExt is, by its spec and its status alone.

use serde::Serialize;
use sked_api::{ConditionType, RolloutPhase, SchedExt};
use sked_plan::part::key;
use sked_plan::revision::revision;
use sked_plan::rollout::current;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RolloutView {
    pub(crate) schedext: String,
    pub(crate) revision: String,
    pub(crate) phase: Option<&'static str>,
    pub(crate) state: RolloutState,
    pub(crate) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RolloutState {
    Waiting,
    Complete,
    Failed,
}

pub(crate) fn view(schedext: &SchedExt) -> RolloutView {
    let record = current(schedext).filter(|_| is_observed(schedext));
    let phase = record.map(|record| record.phase);
    let state = match phase {
        Some(RolloutPhase::Complete) => RolloutState::Complete,
        Some(RolloutPhase::RolledBack | RolloutPhase::Failed) => RolloutState::Failed,
        Some(RolloutPhase::Canary | RolloutPhase::Rolling) | None => RolloutState::Waiting,
    };
    RolloutView {
        schedext: key(schedext).to_string(),
        revision: revision(schedext),
        phase: phase.map(RolloutPhase::as_str),
        message: message(schedext, state),
        state,
    }
}

/// Whether the status is about the spec as it is.
fn is_observed(schedext: &SchedExt) -> bool {
    let status = schedext.status.as_ref();
    status.and_then(|status| status.observed_generation) == schedext.metadata.generation
}

fn message(schedext: &SchedExt, state: RolloutState) -> String {
    let status = schedext.status.clone().unwrap_or_default();
    if !is_observed(schedext) {
        return "the manager has not read the spec yet".to_owned();
    }
    let condition = |kind: ConditionType, value: &str| {
        let mut conditions = status.conditions.iter();
        let found = conditions.find(|one| one.type_ == kind.as_str() && one.status == value);
        found.map(|one| format!("{}: {}", one.reason, one.message))
    };
    let counts = status.counts.unwrap_or_default();
    match state {
        RolloutState::Complete => match counts.desired {
            0 => "complete: no node should run it".to_owned(),
            desired => format!("complete on {desired} nodes"),
        },
        RolloutState::Failed => status.rejected.as_ref().map_or_else(
            || "it failed".to_owned(),
            |rejected| {
                let on = match rejected.node.as_str() {
                    "" => String::new(),
                    node => format!(" on {node}"),
                };
                format!("failed{on}: {}: {}", rejected.reason, rejected.message)
            },
        ),
        RolloutState::Waiting => condition(ConditionType::Progressing, "True")
            .or_else(|| condition(ConditionType::Degraded, "True"))
            .unwrap_or_else(|| "waiting for the manager".to_owned()),
    }
}
