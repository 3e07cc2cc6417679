//! How a roll-out appears in conditions and problems.

use sked_api::{Reason, RejectedRevision, RolloutPhase, RolloutStatus, SchedExt, label};

use super::issue::Issue;
use super::node_list::node_list;
use super::pod_issue;
use super::progress::Progress;
use crate::live_pod::PodState;
use crate::name::NodeName;
use crate::observed::Observed;
use crate::placed_pods::PlacedPod;
use crate::rollout::advance::{Hold, refusal};
use crate::rollout::{Record, Settings};

/// A revision that failed, nodes in quarantine, a request that was refused.
pub(super) fn issues(schedext: &SchedExt, record: &Record) -> Vec<Issue> {
    let failed = record.rollout.as_ref().zip(record.rejected.as_ref());
    let failed = failed.and_then(|(rollout, rejected)| revision_failed(record, rollout, rejected));
    let refused = refusal(schedext, record.handled_request.as_deref()).map(|why| {
        let message = format!(
            "the annotation {} was not carried out: {why}",
            label::REQUEST
        );
        Issue::overall(Reason::InvalidRequest, message)
    });
    let quarantined = record.quarantined.iter().map(|one| Issue {
        node: Some(one.node.as_str().into()),
        since: Some(one.since.0),
        ..Issue::overall(
            Reason::Quarantined,
            format!(
                "revision {} failed there: {}; the node runs the kernel's own scheduler until the spec \
                 has another revision, or until somebody annotates the SchedExt with {}='release {}'",
                one.revision, one.message, label::REQUEST, one.node
            ),
        )
    });
    failed
        .into_iter()
        .chain(refused)
        .chain(quarantined)
        .collect()
}

fn revision_failed(
    record: &Record,
    rollout: &RolloutStatus,
    rejected: &RejectedRevision,
) -> Option<Issue> {
    let on = match rejected.node.as_str() {
        "" => String::new(),
        node => format!(" on {node}"),
    };
    let what = format!(
        "revision {} failed{on}: {}",
        rejected.revision, rejected.message
    );
    let remedy = format!(
        "change the spec, or try again with the annotation {}=retry",
        label::REQUEST
    );
    let (reason, message) = match (rollout.phase, &record.last_good) {
        (RolloutPhase::RolledBack, Some(good)) => (
            Reason::RolledBack,
            format!(
                "{what}; the nodes go back to revision {}: {remedy}",
                good.revision
            ),
        ),
        (RolloutPhase::RolledBack, None) => (
            Reason::RolledBack,
            format!("{what}; there is no earlier revision, so no node has a scheduler: {remedy}"),
        ),
        (RolloutPhase::Failed, _) => (
            Reason::RevisionFailed,
            format!("{what}; no further node gets it, and those that have it keep it: {remedy}"),
        ),
        _ => return None,
    };
    Some(Issue {
        since: Some(rejected.time.0),
        ..Issue::overall(reason, message)
    })
}

/// The progress of the DaemonSets, in the light of the roll-out that they are part of.
pub(super) fn progress(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    record: &Record,
    hold: Option<Hold>,
    progress: Progress,
) -> Progress {
    if let Progress::Blocked(_) = progress {
        return progress;
    }
    match hold {
        Some(Hold::Paused) => {
            let message = "spec.rollout.paused is set".to_owned();
            return Progress::RollingOut(Reason::RolloutPaused, message);
        }
        Some(Hold::Unhealthy) => return Progress::RollingOut(Reason::FleetUnhealthy, unhealthy()),
        None => {}
    }
    let Some(rollout) = &record.rollout else {
        return progress;
    };
    let settings = Settings::new(&observed.schedext);
    match rollout.phase {
        RolloutPhase::Complete => progress,
        RolloutPhase::Rolling if !settings.is_staged => progress,
        RolloutPhase::Failed => Progress::Blocked(Reason::RevisionFailed),
        RolloutPhase::RolledBack => match progress {
            Progress::Done if rollout.canaries.is_empty() => Progress::Blocked(Reason::RolledBack),
            Progress::Done | Progress::Blocked(_) => Progress::RollingOut(
                Reason::RollingOut,
                "the canary's nodes go back to the last good revision".to_owned(),
            ),
            rolling @ Progress::RollingOut(..) => rolling,
        },
        RolloutPhase::Canary | RolloutPhase::Rolling => {
            match (blocked(observed, placed, rollout), progress) {
                (Some(message), _) => Progress::RollingOut(Reason::RolloutBlocked, message),
                (None, _) if rollout.phase == RolloutPhase::Canary => {
                    Progress::RollingOut(Reason::Canary, canary(rollout))
                }
                (None, Progress::Done | Progress::Blocked(_)) => Progress::RollingOut(
                    Reason::RollingOut,
                    format!(
                        "revision {} is attached, and each node must run it for {} s",
                        rollout.revision,
                        settings.soak.as_secs()
                    ),
                ),
                (None, rolling) => rolling,
            }
        }
    }
}

fn unhealthy() -> String {
    format!(
        "more nodes are without their scheduler, or have had it for a shorter time than \
         spec.rollout.soak, than maxUnavailable allows: see problems; mend them, wait, or go on all the \
         same with the annotation {}=force",
        label::REQUEST
    )
}

fn canary(rollout: &RolloutStatus) -> String {
    let nodes: Vec<&str> = rollout.canary_nodes().collect();
    format!(
        "revision {} runs on the canary only ({})",
        rollout.revision,
        node_list(&nodes)
    )
}

/// The nodes on which the roll-out waits in vain.
fn blocked(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    rollout: &RolloutStatus,
) -> Option<String> {
    let lacking = rollout.canaries.iter().find(|one| {
        let available = observed.assignment.canaries.get(&one.pool);
        let nothing_fits = available.is_some_and(|nodes| {
            nodes.candidates.is_empty() && nodes.present.is_empty() && nodes.total > 0
        });
        rollout.phase == RolloutPhase::Canary && one.nodes.is_empty() && nothing_fits
    });
    if lacking.is_some() {
        return Some(
            "no node can be the canary: check spec.rollout.canary.nodeSelector, and the taints and \
             labels of the nodes"
                .to_owned(),
        );
    }
    let deadline = Settings::new(&observed.schedext).attach_deadline;
    let is_dead = |node: &NodeName| {
        let since = observed.unreachable.get(node);
        since.is_some_and(|since| observed.now.duration_since(*since) >= deadline)
    };
    let stuck = placed.iter().filter(|one| {
        let is_slow = || {
            let until = one.pod.created.checked_add(deadline);
            one.pod.state == PodState::Starting && until.is_ok_and(|until| until <= observed.now)
        };
        let waits = matches!(
            one.pod.state,
            PodState::Unscheduled(Some(_)) | PodState::Waiting { .. } | PodState::Failed { .. }
        );
        (waits && pod_issue::failure(one, observed.now).is_some()) || is_slow()
    });
    let stuck = stuck.filter_map(|one| one.pod.node.as_ref());
    let dead = observed.unreachable.keys().filter(|node| is_dead(node));
    let mut nodes: Vec<&str> = stuck.chain(dead).map(|node| &*node.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    (!nodes.is_empty()).then(|| {
        format!(
            "the roll-out waits for {}: see problems; nodes that are unreachable are passed over after \
             {} s, and so are as many that cannot begin as maxUnavailable allows",
            node_list(&nodes),
            deadline.as_secs()
        )
    })
}
