//! How far the roll-out of one SchedExt is, by its spec and its status alone.

use serde::Serialize;
use sked_api::{ConditionType, RolloutPhase, SchedExt, VerificationState};
use sked_plan::part::key;
use sked_plan::revision::revision;
use sked_plan::rollout::current;
use sked_plan::verification::{as_recorded, unaccepted, was_on};

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
    match is_observed(schedext) && was_on(schedext) && !unaccepted(schedext).is_empty() {
        true => not_accepted(schedext),
        false => of(&as_recorded(schedext)),
    }
}

/// The trust policy has not accepted what the spec asks for, and what was accepted before runs on.
fn not_accepted(schedext: &SchedExt) -> RolloutView {
    let status = schedext.status.clone().unwrap_or_default();
    let mut conditions = status.conditions.iter();
    let verified = conditions.find(|one| one.type_ == ConditionType::Verified.as_str());
    let message = verified.map(|one| format!("{}: {}", one.reason, one.message));
    RolloutView {
        schedext: key(schedext).to_string(),
        revision: revision(schedext),
        phase: None,
        state: match status.verification {
            Some(VerificationState::Refused | VerificationState::Violated) => RolloutState::Failed,
            _ => RolloutState::Waiting,
        },
        message: message.unwrap_or_else(|| "its images are being verified".to_owned()),
    }
}

fn of(schedext: &SchedExt) -> RolloutView {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schedext(sched: &str, verification: &str) -> SchedExt {
        let digest = format!("r.example/x@sha256:{}", "1".repeat(64));
        let image = json!({"image": "r.example/x:1", "resolved": digest, "signer": "somebody",
            "policy": "p", "verifiedAt": "2026-01-01T00:00:00Z"});
        let condition = json!({"type": "Verified", "status": "False", "reason": "ImageRefused",
            "message": "not signed", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        serde_json::from_value(json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
            "metadata": {"name": "a", "namespace": "b", "generation": 2},
            "spec": {"sched": sched},
            "status": {
                "observedGeneration": 2, "verification": verification, "conditions": [condition],
                "accepted": {"spec": {"sched": "r.example/x:1"}, "images": [image]},
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_version_that_is_refused_has_failed_although_another_runs() {
        let refused = view(&schedext("r.example/x:2", "refused"));
        assert_eq!(refused.state, RolloutState::Failed);
        assert!(
            refused.message.contains("not signed"),
            "{}",
            refused.message
        );
        let violated = view(&schedext("r.example/x:2", "policy violated"));
        assert_eq!(violated.state, RolloutState::Failed);
        let unknown = view(&schedext("r.example/x:2", "unknown"));
        assert_eq!(unknown.state, RolloutState::Waiting);
        // The revision is that of the digest, as the manager records it.
        let pinned = schedext("r.example/x:1", "verified");
        let recorded = as_recorded(&pinned);
        assert_eq!(view(&pinned).revision, revision(&recorded));
        assert_ne!(view(&pinned).revision, revision(&pinned));
    }
}
