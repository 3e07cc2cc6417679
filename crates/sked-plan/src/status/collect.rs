//! Collects the issues of a SchedExt from its plan, failed writes, refused pods and pods' states.

use std::collections::BTreeSet;

use schedkit_core::sanitize;
use sked_api::Reason;

use super::issue::{Issue, name_taken};
use super::{failure, pod_issue};
use crate::live_daemonset::LiveDaemonSet;
use crate::observed::{FailedCreate, Observed};
use crate::part::{parts, uid};
use crate::placed_pods::PlacedPod;
use crate::plan::{Outcome, Plan};
use crate::preflight::Preflight;

/// Lost and excluded nodes are not among them: they are no failures.
pub(super) fn issues(
    observed: &Observed,
    placed: &[PlacedPod<'_>],
    plan: &Plan,
    outcome: &Outcome,
) -> Vec<Issue> {
    let taken = plan
        .taken
        .iter()
        .map(|taken| name_taken(&taken.key, &taken.by));
    let failed = outcome.failure.iter().filter_map(failure::issue);
    let violations = outcome.violations.iter();
    let violations = violations
        .chain(&observed.assignment.violation)
        .map(|one| violation(one));
    let spec = parts(&observed.schedext).take(1);
    let spec = spec.filter_map(|part| part.watchdog().err());
    let spec = spec.map(|_| {
        let message = "spec.watchdogTimeout is not a time from 1s to 30s and is ignored: write it as \
                       10s or 1500ms";
        Issue::overall(Reason::InvalidSpec, message.to_owned())
    });
    let refused = observed
        .failed_creates
        .iter()
        .filter_map(|one| refused(observed, one));
    let pods = placed
        .iter()
        .filter_map(|placed| pod_issue::issue(placed, observed.now));
    let overall = taken.chain(failed).chain(spec).chain(refused);
    let unenforced = unenforced(&observed.unenforced_policies);
    overall
        .chain(violations)
        .chain(unenforced)
        .chain(pods)
        .chain(preflight(observed, placed))
        .collect()
}

/// What is wrong with the images themselves, and with the nodes that have no pod yet.
fn preflight(observed: &Observed, placed: &[PlacedPod<'_>]) -> Vec<Issue> {
    let preflight = Preflight::new(observed);
    let cannot_start = preflight.images_that_cannot_start().into_iter();
    let cannot_start = cannot_start.map(|why| Issue::overall(Reason::NoEntrypoint, why));
    let has_pod: BTreeSet<_> = placed
        .iter()
        .filter_map(|one| one.pod.node.as_ref())
        .collect();
    let unfit = preflight
        .of_nodes()
        .filter(|(node, _)| !has_pod.contains(node));
    let unfit = unfit.map(|(node, unfit)| Issue {
        node: Some(node.clone()),
        ..Issue::overall(unfit.reason(), unfit.to_string())
    });
    cannot_start.chain(unfit).collect()
}

fn unenforced(policies: &[&str]) -> Option<Issue> {
    let message = format!(
        "the admission policies {} do not restrict sked's own account: apply config/policy, or the \
         chart, and keep the names of its accounts",
        policies.join(", ")
    );
    let issue = Issue::overall(Reason::PolicyNotEnforced, message);
    (!policies.is_empty()).then_some(issue)
}

fn violation(violation: &str) -> Issue {
    let message = format!(
        "nothing is changed, because sked's own check failed ({violation}); what runs is not touched. \
         This is a bug in sked: please report it"
    );
    Issue::overall(Reason::CheckFailed, message)
}

/// It counts only while pods are missing, because the event outlives its cause.
fn refused(observed: &Observed, failed_create: &FailedCreate) -> Option<Issue> {
    let ours = |live: &&std::sync::Arc<LiveDaemonSet>| live.uid == failed_create.daemonset;
    let live = observed.daemonsets.iter().find(ours)?;
    if live.controller.as_ref() != Some(&uid(&observed.schedext)) {
        return None;
    }
    let pods = observed.pods.iter();
    let there = pods.filter(|pod| pod.daemonset == live.uid && !pod.deleting);
    let there = i32::try_from(there.count()).unwrap_or(i32::MAX);
    (there < live.desired).then(|| Issue {
        since: Some(failed_create.at),
        ..Issue::overall(
            Reason::PodsRefused,
            failed_create_message(live, failed_create),
        )
    })
}

fn failed_create_message(live: &LiveDaemonSet, failed_create: &FailedCreate) -> String {
    let cause = sanitize::brief(&stable_text(&failed_create.message));
    let namespace = &live.key.namespace;
    let remedy = if failed_create.message.contains("PodSecurity") {
        format!(
            "schedulers are privileged: label the namespace {namespace} \
             pod-security.kubernetes.io/enforce=privileged, or move the SchedExt to a namespace that \
             has this label"
        )
    } else if failed_create.message.contains("exceeded quota") {
        format!("raise the quota of the namespace {namespace}")
    } else {
        "see the events of the DaemonSet".to_owned()
    };
    format!(
        "the cluster rejects pods of {}: {cause}; {remedy}",
        live.key
    )
}

/// The text without what differs between attempts (the pod's name, a prefix of combined events):
/// otherwise every attempt would cause a status write.
fn stable_text(message: &str) -> String {
    let text = message.trim_start_matches("(combined from similar events): ");
    let text = text.trim_start_matches("Error creating: ");
    let named = text.strip_prefix("pods \"");
    match named.and_then(|named| named.split_once('"')) {
        Some((_, rest)) => format!("a pod{rest}"),
        None => text.to_owned(),
    }
}
