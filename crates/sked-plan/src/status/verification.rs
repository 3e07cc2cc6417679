//! What a status says of the verification of images.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use sked_api::{Accepted, ConditionType, Reason, SchedExt, VerificationState};

use super::issue::Issue;
use crate::observed::Observed;
use crate::part::parts;
use crate::rollout::running::running;
use crate::verification::{Judged, Verification, judge, runnable, unaccepted};

/// What of the status is about verification.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) state: VerificationState,
    pub(super) resolved_image: Option<String>,
    pub(super) accepted: Option<Accepted>,
    /// Status, reason and message; none without a trust policy.
    pub(super) condition: Option<(&'static str, Reason, String)>,
}

impl Section {
    pub(super) fn of(observed: &Observed) -> Self {
        match &observed.verification {
            Verification::Off => Self {
                state: VerificationState::Off,
                resolved_image: None,
                accepted: None,
                condition: None,
            },
            Verification::On(known) => Self::judged(&known.asked, judge(known, &running(observed))),
            Verification::Recorded(asked) => Self::recorded(asked),
        }
    }

    fn judged(asked: &SchedExt, judged: Judged) -> Self {
        let mut next = asked.clone();
        next.status.get_or_insert_default().accepted = judged.accepted.clone();
        let base = runnable(&next);
        let base = base.as_ref().and_then(|runs| parts(runs).next());
        let status = match judged.state {
            VerificationState::Verified => "True",
            VerificationState::Refused | VerificationState::Violated => "False",
            VerificationState::Unknown | VerificationState::Off => "Unknown",
        };
        // A manager that has just started goes on saying what the last one found out about this spec.
        if judged.reason == Reason::Verifying
            && let Some(written) = written(asked)
        {
            return Self {
                state: asked
                    .status
                    .as_ref()
                    .and_then(|one| one.verification)
                    .unwrap_or(judged.state),
                resolved_image: base.map(|base| base.sched().to_owned()),
                accepted: judged.accepted,
                condition: recorded_condition(written),
            };
        }
        Self {
            state: judged.state,
            resolved_image: base.map(|base| base.sched().to_owned()),
            accepted: judged.accepted,
            condition: Some((status, judged.reason, judged.message)),
        }
    }

    /// What the manager wrote, unless the spec names images that it has not seen: those are verified
    /// first.
    fn recorded(asked: &SchedExt) -> Self {
        let status = asked.status.clone().unwrap_or_default();
        let new = unaccepted(asked);
        let condition = match (written(asked), new.is_empty()) {
            (Some(written), _) => recorded_condition(written),
            (None, true) => None,
            (None, false) => {
                let message = format!(
                    "the manager verifies {} first, and what runs goes on until it is accepted",
                    new.join(", ")
                );
                Some(("Unknown", Reason::Verifying, message))
            }
        };
        Self {
            state: status.verification.unwrap_or(VerificationState::Unknown),
            resolved_image: status.resolved_image,
            accepted: status.accepted,
            condition,
        }
    }

    /// An image that is refused keeps the SchedExt from becoming what its spec asks for.
    pub(super) fn issue(&self) -> Option<Issue> {
        let (_, reason, message) = self.condition.as_ref()?;
        let is_issue = reason.is_degraded();
        is_issue.then(|| Issue::overall(*reason, message.clone()))
    }

    /// Why nothing is rolled out, if no spec was ever accepted and nothing refuses it.
    pub(super) fn waits(&self) -> Option<(Reason, String)> {
        let (status, reason, message) = self.condition.as_ref()?;
        let waits = *status == "Unknown" && self.resolved_image.is_none();
        waits.then(|| (*reason, message.clone()))
    }
}

/// The condition that was written about the spec as it is.
fn written(asked: &SchedExt) -> Option<&Condition> {
    let mut conditions = asked.status.as_ref()?.conditions.iter();
    let written = conditions.find(|one| one.type_ == ConditionType::Verified.as_str());
    written.filter(|one| one.observed_generation == asked.metadata.generation)
}

fn recorded_condition(written: &Condition) -> Option<(&'static str, Reason, String)> {
    let mut statuses = ["True", "False", "Unknown"].into_iter();
    let status = statuses.find(|one| *one == written.status)?;
    let mut reasons = Reason::ALL.into_iter();
    let reason = reasons.find(|one| one.as_str() == written.reason)?;
    Some((status, reason, written.message.clone()))
}
