//! Everything that is not as it should be, from all that was observed.

use jiff::Timestamp;
use schedkit_core::foreign;
use sked_api::Reason;

use super::nodes::Placed;
use super::{failure, pods};
use crate::name::{NodeName, ObjectKey};
use crate::observed::{LiveDaemonSet, Observed, Refusal};
use crate::part::{parts, uid};
use crate::plan::{Outcome, Plan};

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) reason: Reason,
    /// Where, if it is one node's.
    pub(super) node: Option<NodeName>,
    /// A sentence with a remedy.
    pub(super) message: String,
    /// Since when, if that can be seen.
    pub(super) since: Option<Timestamp>,
    /// A closer word than the reason: how a scheduler ended.
    pub(super) word: Option<&'static str>,
}

impl Trouble {
    /// Trouble that is no single node's.
    pub(super) fn overall(reason: Reason, message: String) -> Self {
        Self {
            reason,
            node: None,
            message,
            since: None,
            word: None,
        }
    }
}

/// All of it. Nodes that others have are told apart: they are nothing wrong.
pub(super) fn all(
    observed: &Observed,
    placed: &[Placed<'_>],
    plan: &Plan,
    outcome: &Outcome,
) -> Vec<Trouble> {
    let taken = plan
        .taken
        .iter()
        .map(|taken| name_taken(&taken.key, &taken.by));
    let failed = outcome.failure.iter().filter_map(failure::trouble);
    let spec = parts(&observed.schedext).take(1);
    let spec = spec.filter_map(|part| part.watchdog().err());
    let spec = spec.map(|_| {
        let message = "spec.watchdogTimeout is not a time from 1s to 30s and is left out: write it \
                       as 10s or 1500ms";
        Trouble::overall(Reason::InvalidSpec, message.to_owned())
    });
    let refused = observed
        .refusals
        .iter()
        .filter_map(|one| refused(observed, one));
    let pods = placed
        .iter()
        .filter_map(|placed| pods::trouble(placed, observed.now));
    let overall = taken.chain(failed).chain(spec).chain(refused);
    overall.chain(pods).collect()
}

/// A name that somebody else has.
pub(super) fn name_taken(key: &ObjectKey, by: &str) -> Trouble {
    Trouble::overall(
        Reason::NameConflict,
        format!(
            "the DaemonSet {key} exists already and is controlled by {by}; it is left alone: \
             delete it, or give the SchedExt or its pool another name"
        ),
    )
}

/// A refusal counts while pods are missing: the event outlives its cause.
fn refused(observed: &Observed, refusal: &Refusal) -> Option<Trouble> {
    let ours = |live: &&std::sync::Arc<LiveDaemonSet>| live.uid == refusal.daemonset;
    let live = observed.daemonsets.iter().find(ours)?;
    if live.controller.as_ref() != Some(&uid(&observed.schedext)) {
        return None;
    }
    let pods = observed.pods.iter();
    let there = pods.filter(|pod| pod.daemonset == live.uid && !pod.deleting);
    let there = i32::try_from(there.count()).unwrap_or(i32::MAX);
    (there < live.desired).then(|| Trouble {
        since: Some(refusal.at),
        ..Trouble::overall(Reason::PodsRefused, refusal_message(live, refusal))
    })
}

fn refusal_message(live: &LiveDaemonSet, refusal: &Refusal) -> String {
    let said = foreign::brief(&lasting(&refusal.message));
    let namespace = &live.key.namespace;
    let remedy = if refusal.message.contains("PodSecurity") {
        format!(
            "schedulers are privileged: label the namespace {namespace} \
             pod-security.kubernetes.io/enforce=privileged, or put the SchedExt into one that is"
        )
    } else if refusal.message.contains("exceeded quota") {
        format!("raise the quota of the namespace {namespace}")
    } else {
        "see the events of the DaemonSet".to_owned()
    };
    format!("the cluster refuses pods of {}: {said}; {remedy}", live.key)
}

/// What is the same at each attempt: the pod has another name each time, and many events become one
/// that says so. A status would be written for each.
fn lasting(message: &str) -> String {
    let said = message.trim_start_matches("(combined from similar events): ");
    let said = said.trim_start_matches("Error creating: ");
    let named = said.strip_prefix("pods \"");
    match named.and_then(|named| named.split_once('"')) {
        Some((_, rest)) => format!("a pod{rest}"),
        None => said.to_owned(),
    }
}
