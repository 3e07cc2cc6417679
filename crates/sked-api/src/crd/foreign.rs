//! Kubernetes' own types within a SchedExt: said in our words (theirs are pages long), and without
//! the parts that mean nothing for a scheduler of the whole machine.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::CrdError;

/// Fields whose type is Kubernetes' own: everything below them loses its description.
const ROOTS: &[&str] = &[
    "spec.affinity.nodeAffinity",
    "spec.imagePullSecrets",
    "spec.resources",
    "spec.rollout.maxUnavailable",
    "spec.tolerations",
    "status.conditions",
];

/// What is left out: the field, and the part of it.
const LEFT_OUT: &[(&str, &str)] = &[
    // Devices that are claimed for a pod; the scheduler's pod claims none.
    ("spec.resources", "claims"),
];

/// What each part means.
const WORDS: &[(&str, &str)] = &[
    ("spec.affinity.nodeAffinity", "As in a pod."),
    (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        "What a node must fulfil.",
    ),
    (required!(""), "Several terms: one of them is enough."),
    (
        required!("[].matchExpressions"),
        "Labels of the node; all must fit.",
    ),
    (required!("[].matchExpressions[].key"), "The label."),
    (
        required!("[].matchExpressions[].operator"),
        "How the label's value is compared.",
    ),
    (
        required!("[].matchExpressions[].values"),
        "What it is compared with: some values for In and NotIn, none for Exists and DoesNotExist, one whole number for Gt and Lt.",
    ),
    (
        required!("[].matchFields"),
        "Fields of the node; all must fit.",
    ),
    (
        required!("[].matchFields[].key"),
        "The field: metadata.name.",
    ),
    (required!("[].matchFields[].operator"), "In or NotIn."),
    (required!("[].matchFields[].values"), "One node's name."),
    (
        preferred!(""),
        "Taken as in a pod, but without effect: a DaemonSet has a pod on every node that fits.",
    ),
    (preferred!("[].weight"), "From 1 to 100."),
    (
        preferred!("[].preference"),
        "A term, as in what a node must fulfil.",
    ),
    (
        preferred!("[].preference.matchExpressions"),
        "Labels of the node; all must fit.",
    ),
    (
        preferred!("[].preference.matchExpressions[].key"),
        "The label.",
    ),
    (
        preferred!("[].preference.matchExpressions[].operator"),
        "How the label's value is compared.",
    ),
    (
        preferred!("[].preference.matchExpressions[].values"),
        "What it is compared with.",
    ),
    (
        preferred!("[].preference.matchFields"),
        "Fields of the node; all must fit.",
    ),
    (
        preferred!("[].preference.matchFields[].key"),
        "The field: metadata.name.",
    ),
    (
        preferred!("[].preference.matchFields[].operator"),
        "In or NotIn.",
    ),
    (
        preferred!("[].preference.matchFields[].values"),
        "One node's name.",
    ),
    (
        "spec.imagePullPolicy",
        "When the image is pulled. Without it Kubernetes decides: Always for the tag latest, else IfNotPresent.",
    ),
    (
        "spec.imagePullSecrets",
        "Secrets in the same namespace that the image is pulled with.",
    ),
    ("spec.imagePullSecrets[].name", "The secret's name."),
    (
        "spec.resources",
        "What the scheduler's container asks for and is held to. Without it: nothing, and no limit.",
    ),
    (
        "spec.resources.limits",
        "What it is held to: cpu, memory, ephemeral-storage. A scheduler that is throttled stalls the machine: think twice about cpu.",
    ),
    (
        "spec.resources.requests",
        "What is kept free for it: cpu, memory, ephemeral-storage.",
    ),
    (
        "spec.rollout.maxUnavailable",
        "On how many nodes at a time the scheduler is replaced: a number, or a percentage as in 10%.",
    ),
    ("spec.tolerations", "Taints that are no obstacle."),
    (
        "spec.tolerations[].key",
        "The taint; without one every taint is meant, with operator Exists.",
    ),
    (
        "spec.tolerations[].operator",
        "Equal (the value too must be the same) or Exists.",
    ),
    ("spec.tolerations[].value", "The taint's value, for Equal."),
    (
        "spec.tolerations[].effect",
        "The taint's effect; without one every effect is meant.",
    ),
    (
        "spec.tolerations[].tolerationSeconds",
        "How long a NoExecute taint is endured; without it, for ever.",
    ),
    (
        "status.conditions",
        "Ready, Progressing, Degraded, Conflicted.",
    ),
    ("status.conditions[].type", "What it is about."),
    (
        "status.conditions[].status",
        "Whether it is so: True, False or Unknown.",
    ),
    ("status.conditions[].reason", "Why, in a word."),
    (
        "status.conditions[].message",
        "Why, in a sentence, and what to do.",
    ),
    (
        "status.conditions[].observedGeneration",
        "The generation of the spec that it is about.",
    ),
    (
        "status.conditions[].lastTransitionTime",
        "Since when the status is so.",
    ),
];

/// Replaces Kubernetes' descriptions, and drops what is left out.
pub(super) fn apply(schema: &mut JSONSchemaProps) -> Result<(), CrdError> {
    for path in ROOTS {
        let root = super::field(schema, "foreign types", path)?;
        super::place::walk(root, &mut |field| field.description = None);
    }
    for (path, part) in LEFT_OUT {
        let whole = super::field(schema, "what is left out", path)?;
        let parts = whole.properties.as_mut();
        if parts.and_then(|parts| parts.remove(*part)).is_none() {
            return Err(CrdError::NoSuchField {
                table: "what is left out",
                path: format!("{path}.{part}"),
            });
        }
    }
    for (path, words) in WORDS {
        let field = super::field(schema, "words", path)?;
        field.description = Some((*words).to_owned());
    }
    Ok(())
}
