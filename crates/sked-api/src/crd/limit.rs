//! Limits and defaults of fields.
//!
//! Every field needs a limit: without one the API server cannot estimate the cost of a validation
//! rule and rejects the CRD, and a SchedExt could be as large as a request.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{JSON, JSONSchemaProps};

use super::field_path::{CrdError, field};

#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// At most this many items in a list.
    Items(i64),
    /// At least one item in a list.
    NotEmpty,
    /// At most this many entries in a map.
    Entries(i64),
    /// At most this many characters in a string.
    Length(i64),
    /// A number within these bounds.
    Between(i32, i32),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// The default of a number.
    Default(i32),
}

use Limit::{Between, Default, Entries, Items, Length, NotEmpty, OneOf};

/// The longest key of a label: a DNS subdomain, a slash and a name.
const LABEL_KEY: Limit = Length(317);
/// The longest value of a label.
const LABEL_VALUE: Limit = Length(63);
/// The longest name of an object.
const OBJECT_NAME: Limit = Length(253);
/// A number of nodes.
const NODES: Limit = Between(0, i32::MAX);
/// A number and its unit.
const DURATION: Limit = Length(16);
const REVISION: Limit = Length(64);
/// A name, a tag, a digest: 255 + 1 + 128 + 1 + 71.
const IMAGE: Limit = Length(456);
/// As many nodes as fail, or are quarantined, before a revision as a whole fails.
const FAILED_NODES: Limit = Items(100);
const OPERATORS: Limit = OneOf(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);

/// By path.
pub(super) type Limits = &'static [(&'static str, &'static [Limit])];

pub(super) const SCHEDEXT: Limits = &[
    ("spec.sched", &[IMAGE]),
    ("spec.args", &[Items(64)]),
    ("spec.args[]", &[Length(1024)]),
    ("spec.env", &[Items(64)]),
    ("spec.env[].name", &[Length(128)]),
    ("spec.env[].value", &[Length(4096)]),
    ("spec.nodeSelector", &[Entries(32)]),
    ("spec.nodeSelector{}", &[LABEL_VALUE]),
    ("spec.tolerations", &[Items(32)]),
    ("spec.tolerations[].key", &[LABEL_KEY]),
    (
        "spec.tolerations[].operator",
        &[OneOf(&["", "Equal", "Exists"])],
    ),
    ("spec.tolerations[].value", &[LABEL_VALUE]),
    (
        "spec.tolerations[].effect",
        &[OneOf(&["", "NoSchedule", "PreferNoSchedule", "NoExecute"])],
    ),
    (
        "spec.tolerations[].tolerationSeconds",
        &[Between(0, i32::MAX)],
    ),
    (required!(""), &[Items(8), NotEmpty]),
    (required!("[].matchExpressions"), &[Items(16)]),
    (required!("[].matchExpressions[].key"), &[LABEL_KEY]),
    (required!("[].matchExpressions[].operator"), &[OPERATORS]),
    (required!("[].matchExpressions[].values"), &[Items(64)]),
    (required!("[].matchExpressions[].values[]"), &[LABEL_VALUE]),
    (required!("[].matchFields"), &[Items(4)]),
    (required!("[].matchFields[].key"), &[Length(63)]),
    (required!("[].matchFields[].operator"), &[OPERATORS]),
    (required!("[].matchFields[].values"), &[Items(4)]),
    (required!("[].matchFields[].values[]"), &[OBJECT_NAME]),
    (preferred!(""), &[Items(8)]),
    (preferred!("[].weight"), &[Between(1, 100)]),
    (preferred!("[].preference.matchExpressions"), &[Items(16)]),
    (
        preferred!("[].preference.matchExpressions[].key"),
        &[LABEL_KEY],
    ),
    (
        preferred!("[].preference.matchExpressions[].operator"),
        &[OPERATORS],
    ),
    (
        preferred!("[].preference.matchExpressions[].values"),
        &[Items(64)],
    ),
    (
        preferred!("[].preference.matchExpressions[].values[]"),
        &[LABEL_VALUE],
    ),
    (preferred!("[].preference.matchFields"), &[Items(4)]),
    (preferred!("[].preference.matchFields[].key"), &[Length(63)]),
    (
        preferred!("[].preference.matchFields[].operator"),
        &[OPERATORS],
    ),
    (
        preferred!("[].preference.matchFields[].values"),
        &[Items(4)],
    ),
    (
        preferred!("[].preference.matchFields[].values[]"),
        &[OBJECT_NAME],
    ),
    ("spec.priority", &[Between(-1_000_000, 1_000_000)]),
    ("spec.priorityClassName", &[OBJECT_NAME]),
    ("spec.imagePullSecrets", &[Items(16)]),
    ("spec.imagePullSecrets[].name", &[OBJECT_NAME]),
    ("spec.resources.limits", &[Entries(8)]),
    ("spec.resources.limits{}", &[Length(32)]),
    ("spec.resources.requests", &[Entries(8)]),
    ("spec.resources.requests{}", &[Length(32)]),
    ("spec.watchdogTimeout", &[Length(16)]),
    ("spec.pools", &[Items(16)]),
    ("spec.pools[].name", &[Length(61)]),
    ("spec.pools[].nodeSelector", &[Entries(32)]),
    ("spec.pools[].nodeSelector{}", &[LABEL_VALUE]),
    ("spec.pools[].sched", &[IMAGE]),
    ("spec.pools[].args", &[Items(64)]),
    ("spec.pools[].args[]", &[Length(1024)]),
    ("spec.pools[].env", &[Items(64)]),
    ("spec.pools[].env[].name", &[Length(128)]),
    ("spec.pools[].env[].value", &[Length(4096)]),
    (
        "spec.rollout.maxUnavailable",
        &[Length(16), Between(0, i32::MAX), Default(1)],
    ),
    ("spec.rollout.soak", &[DURATION]),
    (
        "spec.rollout.canary.nodes",
        &[Length(16), Between(0, i32::MAX), Default(1)],
    ),
    ("spec.rollout.canary.nodeSelector", &[Entries(32)]),
    ("spec.rollout.canary.nodeSelector{}", &[LABEL_VALUE]),
    ("spec.rollout.canary.soak", &[DURATION]),
    ("spec.onFailure.attachDeadline", &[DURATION]),
    ("spec.onFailure.ejections", &[Between(1, 100)]),
    ("spec.onFailure.window", &[DURATION]),
    ("status.observedGeneration", &[]),
    ("status.revision", &[REVISION]),
    ("status.resolvedImage", &[IMAGE]),
    // The base, and each pool.
    ("status.accepted.images", &[Items(17)]),
    ("status.accepted.images[].image", &[IMAGE]),
    ("status.accepted.images[].resolved", &[IMAGE]),
    ("status.accepted.images[].signer", &[Length(1024)]),
    ("status.accepted.images[].policy", &[Length(128)]),
    ("status.counts.desired", &[NODES]),
    ("status.counts.attached", &[NODES]),
    ("status.counts.ejected", &[NODES]),
    ("status.counts.unknown", &[NODES]),
    ("status.counts.conflicted", &[NODES]),
    ("status.counts.foreign", &[NODES]),
    ("status.counts.unsupported", &[NODES]),
    ("status.counts.quarantined", &[NODES]),
    ("status.rollout.revision", &[REVISION]),
    ("status.rollout.selection", &[REVISION]),
    ("status.rollout.canaries", &[Items(17)]),
    ("status.rollout.canaries[].pool", &[Length(63)]),
    ("status.rollout.canaries[].wanted", &[NODES]),
    ("status.rollout.canaries[].nodes", &[Items(1000)]),
    ("status.rollout.canaries[].nodes[]", &[OBJECT_NAME]),
    ("status.rollout.failures", &[FAILED_NODES]),
    ("status.rollout.failures[].node", &[OBJECT_NAME]),
    ("status.rollout.failures[].ends", &[Items(100)]),
    ("status.lastGood.revision", &[REVISION]),
    ("status.lastGood.selection", &[REVISION]),
    ("status.lastGood.policy", &[Length(128)]),
    ("status.previousGood.revision", &[REVISION]),
    ("status.previousGood.selection", &[REVISION]),
    ("status.previousGood.policy", &[Length(128)]),
    ("status.rejected.revision", &[REVISION]),
    ("status.rejected.selection", &[REVISION]),
    ("status.rejected.reason", &[Length(256)]),
    ("status.rejected.node", &[OBJECT_NAME]),
    ("status.rejected.message", &[Length(8192)]),
    ("status.quarantined", &[FAILED_NODES]),
    ("status.quarantined[].node", &[OBJECT_NAME]),
    ("status.quarantined[].revision", &[REVISION]),
    ("status.quarantined[].reason", &[Length(256)]),
    ("status.quarantined[].message", &[Length(1024)]),
    ("status.handledRequest", &[Length(512)]),
    ("status.ops", &[Length(128)]),
    ("status.opsTemplate", &[LABEL_VALUE]),
    ("status.pools", &[Items(16)]),
    ("status.pools[].name", &[Length(63)]),
    ("status.pools[].desired", &[NODES]),
    ("status.pools[].attached", &[NODES]),
    ("status.pools[].ops", &[Length(128)]),
    ("status.pools[].opsTemplate", &[LABEL_VALUE]),
    ("status.problems", &[Items(10)]),
    ("status.problems[].node", &[OBJECT_NAME]),
    ("status.problems[].reason", &[Length(256)]),
    ("status.problems[].message", &[Length(8192)]),
    ("status.moreProblems", &[NODES]),
    ("status.conditions", &[Items(16)]),
    ("status.conditions[].type", &[Length(316)]),
    (
        "status.conditions[].status",
        &[OneOf(&["True", "False", "Unknown"])],
    ),
    ("status.conditions[].reason", &[Length(1024)]),
    ("status.conditions[].message", &[Length(32768)]),
];

pub(super) const NODE: Limits = &[
    ("status.kernelRelease", &[Length(128)]),
    ("status.bootID", &[Length(36)]),
    ("status.state", &[Length(256)]),
    ("status.ops", &[Length(128)]),
    ("status.enableSeq", &[]),
    ("status.nrRejected", &[]),
    ("status.kernelGaps", &[Length(1024)]),
    ("status.trouble", &[Length(1024)]),
];

pub(super) fn apply(schema: &mut JSONSchemaProps, limits: Limits) -> Result<(), CrdError> {
    for (path, limits) in limits {
        let field = field(schema, "limits", path)?;
        for limit in *limits {
            limit.apply(field);
        }
    }
    Ok(())
}

impl Limit {
    fn apply(self, field: &mut JSONSchemaProps) {
        match self {
            Items(most) => field.max_items = Some(most),
            NotEmpty => field.min_items = Some(1),
            Entries(most) => field.max_properties = Some(most),
            Length(most) => field.max_length = Some(most),
            Between(least, most) => {
                field.minimum = Some(f64::from(least));
                field.maximum = Some(f64::from(most));
            }
            OneOf(values) => {
                let values = values.iter().map(|value| JSON((*value).into()));
                field.enum_ = Some(values.collect());
            }
            Default(number) => field.default = Some(JSON(number.into())),
        }
    }
}
