//! Taints against tolerations, as the DaemonSet controller sees them.

use k8s_openapi::api::core::v1::{Taint, Toleration};

use super::Fit;

/// What every pod of a DaemonSet tolerates without asking: key and effect. (A pod in the host's
/// network also tolerates `network-unavailable`; a scheduler's is not in it.)
const AUTOMATIC: &[(&str, &str)] = &[
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
];
const NO_SCHEDULE: &str = "NoSchedule";
const NO_EXECUTE: &str = "NoExecute";

/// The strictest of the taints that are not tolerated decides.
pub(super) fn fit(taints: &[Taint], tolerations: &[Toleration]) -> Fit {
    let minded = taints.iter().filter(|taint| {
        let automatic = AUTOMATIC.contains(&(&*taint.key, &*taint.effect));
        !automatic && !tolerations.iter().any(|one| tolerates(one, taint))
    });
    let fits = minded.map(|taint| match &*taint.effect {
        NO_SCHEDULE => Fit::Stays,
        NO_EXECUTE => Fit::Never,
        _ => Fit::Runs,
    });
    fits.min().unwrap_or(Fit::Runs)
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    // What a toleration leaves open, it tolerates whatever it is.
    let says = |text: &Option<String>, other: &str| match text.as_deref() {
        None | Some("") => true,
        Some(text) => text == other,
    };
    if !says(&toleration.effect, &taint.effect) || !says(&toleration.key, &taint.key) {
        return false;
    }
    let wanted = toleration.value.as_deref().unwrap_or_default();
    let value = taint.value.as_deref().unwrap_or_default();
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => wanted == value,
        "Exists" => true,
        "Gt" => numbers(value, wanted).is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers(value, wanted).is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

fn numbers(value: &str, bound: &str) -> Option<(i64, i64)> {
    Some((value.parse().ok()?, bound.parse().ok()?))
}
