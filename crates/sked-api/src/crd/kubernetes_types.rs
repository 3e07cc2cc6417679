//! Kubernetes' own types in a SchedExt: short descriptions instead of Kubernetes' long ones, and
//! without the fields that have no meaning for a scheduler of a whole machine.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::field_path::{CrdError, field, walk};

/// Fields with a type of Kubernetes: all descriptions below them are removed.
const ROOTS: &[&str] = &[
    "spec.affinity.nodeAffinity",
    "spec.imagePullSecrets",
    "spec.resources",
    "spec.rollout.canary.nodes",
    "spec.rollout.maxUnavailable",
    "spec.tolerations",
    "status.conditions",
];

/// Fields that are removed: the parent and the field.
const REMOVED: &[(&str, &str)] = &[
    // Devices claimed for a pod; the scheduler's pod claims none.
    ("spec.resources", "claims"),
];

/// The descriptions by path.
const DESCRIPTIONS: &[(&str, &str)] = &[
    ("spec.affinity.nodeAffinity", "As in a pod."),
    (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "The requirements of a node.",
    ),
    (required!(""), "A node must match at least one term."),
    (
        required!("[].matchExpressions"),
        "Requirements for the node's labels; all must match.",
    ),
    (
        required!("[].matchExpressions[].key"),
        "The key of the label.",
    ),
    (
        required!("[].matchExpressions[].operator"),
        "How the label's value is compared.",
    ),
    (
        required!("[].matchExpressions[].values"),
        "The values to compare with: at least one for In and NotIn, none for Exists and DoesNotExist, one integer for Gt and Lt.",
    ),
    (
        required!("[].matchFields"),
        "Requirements for the node's fields; all must match.",
    ),
    (
        required!("[].matchFields[].key"),
        "The field; only metadata.name is supported.",
    ),
    (required!("[].matchFields[].operator"), "In or NotIn."),
    (
        required!("[].matchFields[].values"),
        "The name of one node.",
    ),
    (
        preferred!(""),
        "Accepted as in a pod, but without effect: a DaemonSet has a pod on every node that matches.",
    ),
    (preferred!("[].weight"), "From 1 to 100."),
    (
        preferred!("[].preference"),
        "A term, as in the required part.",
    ),
    (
        preferred!("[].preference.matchExpressions"),
        "Requirements for the node's labels; all must match.",
    ),
    (
        preferred!("[].preference.matchExpressions[].key"),
        "The key of the label.",
    ),
    (
        preferred!("[].preference.matchExpressions[].operator"),
        "How the label's value is compared.",
    ),
    (
        preferred!("[].preference.matchExpressions[].values"),
        "The values to compare with.",
    ),
    (
        preferred!("[].preference.matchFields"),
        "Requirements for the node's fields; all must match.",
    ),
    (
        preferred!("[].preference.matchFields[].key"),
        "The field; only metadata.name is supported.",
    ),
    (
        preferred!("[].preference.matchFields[].operator"),
        "In or NotIn.",
    ),
    (
        preferred!("[].preference.matchFields[].values"),
        "The name of one node.",
    ),
    (
        "spec.imagePullPolicy",
        "When the image is pulled. Default: Always for the tag latest, else IfNotPresent.",
    ),
    (
        "spec.imagePullSecrets",
        "Secrets in the same namespace that the image is pulled with.",
    ),
    ("spec.imagePullSecrets[].name", "The secret's name."),
    (
        "spec.resources",
        "Requests and limits of the scheduler's container. Default: none.",
    ),
    (
        "spec.resources.limits",
        "Limits: cpu, memory, ephemeral-storage. A scheduler that is throttled by a cpu limit stalls the whole machine.",
    ),
    (
        "spec.resources.requests",
        "Requests: cpu, memory, ephemeral-storage.",
    ),
    (
        "spec.rollout.maxUnavailable",
        "On how many nodes the scheduler is replaced at the same time: a number, or a percentage such as 10%.",
    ),
    (
        "spec.rollout.canary.nodes",
        "How many nodes of each part (the base, a pool): a number, or a percentage such as 1%, rounded up.",
    ),
    (
        "spec.tolerations",
        "Taints that the scheduler's pods tolerate.",
    ),
    (
        "spec.tolerations[].key",
        "The key of the taint; without a key, operator Exists tolerates every taint.",
    ),
    (
        "spec.tolerations[].operator",
        "Equal (key and value must match) or Exists.",
    ),
    ("spec.tolerations[].value", "The taint's value, for Equal."),
    (
        "spec.tolerations[].effect",
        "The taint's effect; without one every effect is tolerated.",
    ),
    (
        "spec.tolerations[].tolerationSeconds",
        "How long a NoExecute taint is tolerated; without it, forever.",
    ),
    (
        "status.conditions",
        "Ready, Progressing, Degraded and Conflicted; Verified, if the manager has a trust policy.",
    ),
    ("status.conditions[].type", "The type of the condition."),
    ("status.conditions[].status", "True, False or Unknown."),
    (
        "status.conditions[].reason",
        "The reason, one of those documented in docs/crd.md.",
    ),
    (
        "status.conditions[].message",
        "What happened and what to do.",
    ),
    (
        "status.conditions[].observedGeneration",
        "The generation of the spec that the condition is about.",
    ),
    (
        "status.conditions[].lastTransitionTime",
        "When the status of the condition changed last.",
    ),
];

pub(super) fn apply(schema: &mut JSONSchemaProps) -> Result<(), CrdError> {
    for path in ROOTS {
        let root = field(schema, "Kubernetes' types", path)?;
        walk(root, &mut |field| field.description = None);
    }
    for (path, part) in REMOVED {
        let whole = field(schema, "removed fields", path)?;
        let parts = whole.properties.as_mut();
        if parts.and_then(|parts| parts.remove(*part)).is_none() {
            return Err(CrdError::NoSuchField {
                table: "removed fields",
                path: format!("{path}.{part}"),
            });
        }
    }
    for (path, text) in DESCRIPTIONS {
        let field = field(schema, "descriptions", path)?;
        field.description = Some((*text).to_owned());
    }
    Ok(())
}
