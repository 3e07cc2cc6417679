//! Taints and tolerations, evaluated as the DaemonSet controller does.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// Whether a DaemonSet's pod belongs on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// No, and a pod that is there is removed.
    Never,
    /// No new pod is created, but one that is there may stay: a `NoSchedule` taint.
    Stays,
    Runs,
}

/// What every DaemonSet pod in the host's network tolerates by default: key and effect.
const AUTOMATIC: &[(&str, &str)] = &[
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
    ("node.kubernetes.io/network-unavailable", NO_SCHEDULE),
];
const NO_SCHEDULE: &str = "NoSchedule";
const NO_EXECUTE: &str = "NoExecute";

/// Taints that Kubernetes or a cloud provider sets and removes by itself, as the state of a node
/// changes.
const TRANSIENT: &[&str] = &[
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
];

pub(super) fn is_transient(taint: &Taint) -> bool {
    TRANSIENT.contains(&&*taint.key)
}

/// The strictest taint that is not tolerated, and what follows from it: it decides.
pub(super) fn strictest<'a>(
    taints: impl Iterator<Item = &'a Taint>,
    tolerations: &[Toleration],
) -> Option<(&'a Taint, Fit)> {
    let untolerated = taints.filter(|taint| {
        let automatic = AUTOMATIC.contains(&(&*taint.key, &*taint.effect));
        !automatic && !tolerations.iter().any(|one| tolerates(one, taint))
    });
    let fits = untolerated.map(|taint| match &*taint.effect {
        NO_SCHEDULE => (taint, Fit::Stays),
        NO_EXECUTE => (taint, Fit::Never),
        _ => (taint, Fit::Runs),
    });
    let hinders = fits.filter(|(_, fit)| *fit != Fit::Runs);
    hinders.min_by_key(|(_, fit)| *fit)
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    // An empty key or effect of a toleration matches every one.
    let covers = |text: &Option<String>, other: &str| match text.as_deref() {
        None | Some("") => true,
        Some(text) => text == other,
    };
    if !covers(&toleration.effect, &taint.effect) || !covers(&toleration.key, &taint.key) {
        return false;
    }
    let desired = toleration.value.as_deref().unwrap_or_default();
    let value = taint.value.as_deref().unwrap_or_default();
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => desired == value,
        "Exists" => true,
        "Gt" => numbers(value, desired).is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers(value, desired).is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

fn numbers(value: &str, bound: &str) -> Option<(i64, i64)> {
    Some((value.parse().ok()?, bound.parse().ok()?))
}
