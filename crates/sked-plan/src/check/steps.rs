//! Checks the plan for one SchedExt: it may write only its own DaemonSets, and only such that keep
//! the documented contract.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use serde_json::{Map, Value};
use sked_api::{RolloutPhase, SchedExt};

use super::violation::Violation;
use crate::live_daemonset::LiveDaemonSet;
use crate::name::{ObjectKey, Uid};
use crate::observed::Observed;
use crate::part::{PartId, Stage};
use crate::plan::{Plan, PlanStep};
use crate::rollout::{current, record_key};
use crate::verification::Verification;

pub fn check_plan(observed: &Observed, plan: &Plan) -> Vec<Violation> {
    let schedext = &observed.schedext;
    if schedext.metadata.deletion_timestamp.is_some() && !plan.steps.is_empty() {
        return vec![Violation::Deleting];
    }
    let violations = plan.steps.iter().map(|step| match step {
        PlanStep::Create(desired) => check_create(observed, desired),
        PlanStep::Replace { desired, uid } => check_replace(observed, desired, uid),
        PlanStep::Touch { key, uid, at: _ } => check_touch(observed, key, uid),
        PlanStep::Delete { key, uid } => check_delete(observed, key, uid),
    });
    violations.flatten().collect()
}

fn check_create(observed: &Observed, desired: &DaemonSet) -> Vec<Violation> {
    let key = name_of(desired);
    let mut found = contract(observed, desired);
    if observed.daemonsets.iter().any(|live| live.key == key) {
        found.push(Violation::NotOurs { key: key.clone() });
    }
    if is_early(observed, &key) {
        found.push(Violation::TooEarly { key });
    }
    found
}

fn check_replace(observed: &Observed, desired: &DaemonSet, uid: &Uid) -> Vec<Violation> {
    let key = name_of(desired);
    let mut found = contract(observed, desired);
    let live = observed.daemonsets.iter().find(|live| live.uid == *uid);
    let ours = |live: &LiveDaemonSet| is_ours(observed, live) && live.key == key && !live.deleting;
    if !live.is_some_and(|live| ours(live)) {
        found.push(Violation::NotOurs { key: key.clone() });
    }
    if is_early(observed, &key) {
        found.push(Violation::TooEarly { key });
    }
    found
}

fn check_touch(observed: &Observed, key: &ObjectKey, uid: &Uid) -> Vec<Violation> {
    let mut daemonsets = observed.daemonsets.iter();
    let ours =
        daemonsets.any(|live| live.uid == *uid && live.key == *key && is_ours(observed, live));
    match ours {
        true => Vec::new(),
        false => vec![Violation::NotOurs { key: key.clone() }],
    }
}

fn check_delete(observed: &Observed, key: &ObjectKey, uid: &Uid) -> Vec<Violation> {
    let live = observed.daemonsets.iter().find(|live| live.uid == *uid);
    let mut found = Vec::new();
    if !live.is_some_and(|live| is_ours(observed, live) && live.key == *key) {
        found.push(Violation::NotOurs { key: key.clone() });
    }
    let schedext = &observed.schedext;
    let name = schedext.metadata.name.as_deref().unwrap_or_default();
    let kept = |pool: &sked_api::Pool| {
        let id = PartId::stable(Some(&pool.name));
        !observed.assignment.yields.contains_key(&id)
    };
    let pools = followed_pools(schedext);
    let pools = pools.iter().filter(|pool| kept(pool));
    let mut pools = pools.map(|pool| format!("{name}-{}", pool.name));
    let same_namespace = schedext.metadata.namespace.as_ref() == Some(&key.namespace);
    let is_needed = key.name == name
        || pools.any(|pool| pool == key.name)
        || canaries_in_use(schedext).contains(&key.name);
    if same_namespace && is_needed && !is_off(schedext) {
        found.push(Violation::StillNeeded { key: key.clone() });
    }
    found
}

/// Whether the trust policy refuses what the spec asks for, and there is nothing to go back to: then no
/// DaemonSet is needed.
fn is_off(schedext: &SchedExt) -> bool {
    let Some(status) = &schedext.status else {
        return false;
    };
    let refused = status.rejected.as_ref();
    let refused = refused.is_some_and(|one| one.reason == "PolicyViolated");
    let is_back = current(schedext).is_some_and(|one| one.phase == RolloutPhase::RolledBack);
    refused && is_back && status.last_good.is_none()
}

/// The pools that the stable DaemonSets are for.
fn followed_pools(schedext: &SchedExt) -> Vec<sked_api::Pool> {
    match followed_good(schedext) {
        Some(good) => {
            let pools = good.get("pools").cloned().unwrap_or_default();
            serde_json::from_value(pools).unwrap_or_default()
        }
        None => schedext.spec.pools.clone(),
    }
}

/// The last good revision, if the stable DaemonSets follow it: while a canary runs the new one, and
/// after that one failed.
fn followed_good(schedext: &SchedExt) -> Option<&Map<String, Value>> {
    let record = current(schedext)?;
    let follows = matches!(
        record.phase,
        RolloutPhase::Canary | RolloutPhase::RolledBack
    );
    let status = schedext.status.as_ref().filter(|_| follows)?;
    status.last_good.as_ref().map(|good| &good.spec)
}

/// The names of the canaries that have nodes by the current record.
fn canaries_in_use(schedext: &SchedExt) -> Vec<String> {
    let name = schedext.metadata.name.as_deref().unwrap_or_default();
    let record = current(schedext).into_iter();
    let canaries = record.flat_map(|record| &record.canaries);
    let in_use = canaries.filter(|one| !one.nodes.is_empty());
    let names = in_use.map(|one| match &one.pool {
        Some(pool) => format!("{name}-{pool}-canary"),
        None => format!("{name}-canary"),
    });
    names.collect()
}

fn is_ours(observed: &Observed, live: &LiveDaemonSet) -> bool {
    let metadata = &observed.schedext.metadata;
    let controller = live.controller.as_ref().map(|controller| &*controller.0);
    controller == metadata.uid.as_deref()
        && metadata.namespace.as_ref() == Some(&live.key.namespace)
}

/// Whether the claims for it are missing, or its nodes do not have their labels yet.
fn is_early(observed: &Observed, key: &ObjectKey) -> bool {
    let schedext = &observed.schedext;
    let name = schedext.metadata.name.as_deref().unwrap_or_default();
    let assignment = &observed.assignment;
    let is_it = |id: &&PartId| {
        let pool = id.pool.as_ref().map(|pool| format!("{name}-{pool}"));
        let stable = pool.as_deref().unwrap_or(name);
        match id.stage {
            Stage::Stable => key.name == stable,
            Stage::Canary => key.name == format!("{stable}-canary"),
        }
    };
    // A name that was cut is not found here, so its part is not checked.
    let base = PartId::stable(None);
    let base = (key.name == name).then_some(&base);
    let Some(pool) = base.or_else(|| assignment.parts.keys().find(is_it)) else {
        return false;
    };
    let part = assignment.parts.get(pool);
    assignment.generation != schedext.metadata.generation.unwrap_or_default()
        || assignment.record != record_key(schedext)
        || part.is_none_or(|part| !part.waits_for.is_empty())
}

fn name_of(daemonset: &DaemonSet) -> ObjectKey {
    ObjectKey {
        namespace: daemonset.metadata.namespace.clone().unwrap_or_default(),
        name: daemonset.metadata.name.clone().unwrap_or_default(),
    }
}

/// The fields that the contract promises to users.
fn contract(observed: &Observed, desired: &DaemonSet) -> Vec<Violation> {
    let schedext = &observed.schedext;
    let key = name_of(desired);
    let spec = desired.spec.as_ref();
    let rules: [(&'static str, bool); 8] = [
        (
            "namespace",
            desired.metadata.namespace == schedext.metadata.namespace,
        ),
        (
            "label",
            has(
                desired.metadata.labels.as_ref(),
                "managed-by",
                "sked-controller",
            ),
        ),
        ("controller", is_controlled(desired, schedext)),
        (
            "selector",
            spec.is_some_and(|spec| selects_its_own(spec, &key.name)),
        ),
        (
            "container",
            spec.is_some_and(|spec| runs_one(spec, &images(schedext, &key))),
        ),
        (
            "unverified image",
            spec.is_some_and(|spec| runs_accepted(spec, observed)),
        ),
        ("strategy", spec.is_some_and(never_surges)),
        ("host port", spec.is_some_and(excludes_a_second)),
    ];
    let broken = rules.into_iter().filter(|(_, kept)| !kept);
    let broken = broken.map(|(what, _)| Violation::Contract {
        key: key.clone(),
        what,
    });
    broken.collect()
}

fn has(labels: Option<&BTreeMap<String, String>>, key: &str, value: &str) -> bool {
    labels
        .and_then(|labels| labels.get(key))
        .is_some_and(|one| one == value)
}

fn is_controlled(desired: &DaemonSet, schedext: &SchedExt) -> bool {
    let owners = desired.metadata.owner_references.as_deref();
    matches!(owners, Some([owner]) if owner.controller == Some(true)
        && owner.kind == "SchedExt"
        && Some(&owner.uid) == schedext.metadata.uid.as_ref())
}

fn selects_its_own(spec: &DaemonSetSpec, name: &str) -> bool {
    let labels = spec
        .template
        .metadata
        .as_ref()
        .and_then(|one| one.labels.as_ref());
    let selector = spec.selector.match_labels.as_ref();
    selector.is_some_and(|selector| selector.len() == 1)
        && spec.selector.match_expressions.is_none()
        && has(selector, "name", name)
        && has(labels, "name", name)
        && has(labels, "managed-by", "sked-controller")
        && has(labels, "sked.schedkit.io/root-scheduler", "true")
}

fn runs_one(spec: &DaemonSetSpec, images: &[String]) -> bool {
    let Some(pod) = &spec.template.spec else {
        return false;
    };
    let privileged = |container: &k8s_openapi::api::core::v1::Container| {
        let context = container.security_context.as_ref();
        context.and_then(|context| context.privileged) == Some(true)
    };
    pod.init_containers.is_none()
        && matches!(&*pod.containers, [one] if one.name == "scx"
            && privileged(one)
            && one.image.as_ref().is_some_and(|image| images.contains(image)))
}

/// With a trust policy every image is one that the status of the SchedExt has as accepted, or that of a
/// good revision that was verified; each by its digest.
fn runs_accepted(spec: &DaemonSetSpec, observed: &Observed) -> bool {
    if let Verification::Off = observed.verification {
        return true;
    }
    let status = serde_json::to_value(&observed.stored().status).unwrap_or_default();
    let accepted = status["accepted"]["images"].as_array();
    let accepted = accepted.into_iter().flatten();
    let mut allowed: Vec<&Value> = accepted.map(|one| &one["resolved"]).collect();
    for good in [&status["lastGood"], &status["previousGood"]] {
        if good["verified"] == true {
            let pools = good["spec"]["pools"].as_array().into_iter().flatten();
            allowed.extend(pools.map(|pool| &pool["sched"]));
            allowed.push(&good["spec"]["sched"]);
        }
    }
    let pod = spec.template.spec.as_ref();
    pod.is_some_and(|pod| {
        let mut images = pod.containers.iter().map(|one| one.image.as_deref());
        images.all(|image| {
            let image = image.unwrap_or_default();
            let digest = image.split_once("@sha256:").map(|(_, digest)| digest.len());
            digest == Some(64) && allowed.iter().any(|one| **one == *image)
        })
    })
}

/// Which images a DaemonSet may run: those of the spec, but while only the canary may have what the
/// spec asks for, the others may have those of the last good revision only. Both while the record is
/// about an earlier spec.
fn images(schedext: &SchedExt, key: &ObjectKey) -> Vec<String> {
    let spec = serde_json::to_value(&schedext.spec).unwrap_or_default();
    let status = schedext.status.as_ref();
    let good = status.and_then(|status| status.last_good.as_ref());
    let good = good.map(|good| Value::Object(good.spec.clone()));
    let is_canary = canaries_in_use(schedext).contains(&key.name);
    let allowed = match (current(schedext), followed_good(schedext)) {
        (None, _) => [Some(spec), good],
        (Some(_), Some(_)) if !is_canary => [None, good],
        (Some(_), _) => [Some(spec), None],
    };
    let image = |of: &Value| of["sched"].as_str().map(str::to_owned);
    let images = allowed.into_iter().flatten().flat_map(|spec| {
        let pools = spec["pools"].as_array().into_iter().flatten();
        let images: Vec<_> = pools.filter_map(image).chain(image(&spec)).collect();
        images
    });
    images.collect()
}

fn excludes_a_second(spec: &DaemonSetSpec) -> bool {
    let pod = spec.template.spec.as_ref();
    pod.is_some_and(|pod| {
        let ports = pod.containers.iter().flat_map(|one| &one.ports).flatten();
        let mut ports = ports.map(|port| (port.host_port, port.protocol.as_deref()));
        pod.host_network == Some(true) && ports.any(|port| port == (Some(16180), Some("UDP")))
    })
}

fn never_surges(spec: &DaemonSetSpec) -> bool {
    let strategy = spec.update_strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    rolling.is_none_or(|rolling| rolling.max_surge.is_none())
}
