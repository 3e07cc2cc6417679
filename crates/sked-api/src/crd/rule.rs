//! The validation rules (CEL) of a SchedExt and their messages.
//!
//! Each rule is tested by itself: for every rule and every path a test has a spec that only this
//! rule rejects, and that is accepted without the rule. If one mistake would break two rules, the
//! wider rule exempts the narrow case (`<narrow case> || …`), so that a user gets one message for
//! one mistake. The limits of the fields bound the cost of the rules.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, ValidationRule,
};

use super::field_path::{CrdError, field};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For tests and the documentation.
    pub name: &'static str,
    /// The fields that it applies to, as in [`super::field_path`]; `self` is the value there.
    pub at: &'static [&'static str],
    /// The CEL expression; true for a valid value.
    pub rule: &'static str,
    /// What is wrong and what is valid.
    pub message: &'static str,
}

const SCHED: &[&str] = &["spec.sched", "spec.pools[].sched"];
const ENV_NAME: &[&str] = &["spec.env[].name", "spec.pools[].env[].name"];
const NODE_SELECTOR: &[&str] = &[
    "spec.nodeSelector",
    "spec.pools[].nodeSelector",
    "spec.rollout.canary.nodeSelector",
];
const NODE_SELECTOR_VALUE: &[&str] = &[
    "spec.nodeSelector{}",
    "spec.pools[].nodeSelector{}",
    "spec.rollout.canary.nodeSelector{}",
];
const DURATION: &[&str] = &[
    "spec.rollout.soak",
    "spec.rollout.canary.soak",
    "spec.onFailure.attachDeadline",
    "spec.onFailure.window",
];
const AFFINITY: &[&str] = &["spec.affinity"];
const NODE_AFFINITY: &[&str] = &["spec.affinity.nodeAffinity"];
/// Where the API server must keep a null, so that a rule can reject it: it drops others before any
/// rule sees them, and `nodeSelector: {gpu: }` would select every node.
pub(super) const KEEPS_NULL: &[&str] = &[
    "spec.nodeSelector{}",
    "spec.pools[].nodeSelector{}",
    "spec.rollout.canary.nodeSelector{}",
    "spec.affinity.nodeAffinity",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
];
const EXPRESSION: &[&str] = &[
    required!("[].matchExpressions[]"),
    preferred!("[].preference.matchExpressions[]"),
];
const EXPRESSION_KEY: &[&str] = &[
    required!("[].matchExpressions[].key"),
    preferred!("[].preference.matchExpressions[].key"),
];
const NODE_FIELD: &[&str] = &[
    required!("[].matchFields[]"),
    preferred!("[].preference.matchFields[]"),
];
const RESOURCES: &[&str] = &["spec.resources.limits", "spec.resources.requests"];
const QUANTITY: &[&str] = &["spec.resources.limits{}", "spec.resources.requests{}"];

pub const RULES: &[Rule] = &[
    Rule {
        name: "sched is one word",
        at: SCHED,
        rule: r"!self.matches(r'[\s\x00-\x1f\x7f]')",
        message: "sched has a space or a control character in it: write one image reference and nothing else, as in ghcr.io/schedkit/scx_rusty:1.1.4; arguments go to args",
    },
    Rule {
        name: "sched has no scheme",
        at: SCHED,
        rule: "!self.contains('://')",
        message: "sched is an image reference, not a URL: leave out https://, docker:// and the like, as in ghcr.io/schedkit/scx_rusty:1.1.4",
    },
    Rule {
        name: "sched has a well-formed name",
        at: SCHED,
        rule: concat!(
            r"self.matches(r'[\s\x00-\x1f\x7f]') || self.contains('://') || self.matches(r'^",
            r"(([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*",
            r"|\[[0-9A-Fa-f:]+\])(:[0-9]+)?/)?",
            r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*",
            r"(:[^/@]*)?(@.*)?$')"
        ),
        message: "sched does not name an image: HOST[:PORT]/PATH with an optional :TAG and @DIGEST, the path in lower case, its parts divided by one '/' each, '.', '_' and '-' only between letters and digits, as in ghcr.io/schedkit/scx_rusty:1.1.4",
    },
    Rule {
        name: "sched has a name that fits",
        at: SCHED,
        rule: "self.find(r'^([^@]*/)?[^/@:]*').size() <= 255",
        message: "sched names a host and a path that are too long together: at most 255 characters before the tag",
    },
    Rule {
        name: "sched is no image ID",
        at: SCHED,
        rule: "!self.matches(r'^[0-9a-f]{64}$')",
        message: "sched is an image ID, which no registry knows: write HOST/PATH@sha256:DIGEST",
    },
    Rule {
        name: "sched has a valid tag",
        at: SCHED,
        rule: r"!self.matches(r'^([^@]*/)?[^/@:]*:[^/@]*(@.*)?$') || self.matches(r'^([^@]*/)?[^/@:]*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@.*)?$')",
        message: "sched has an invalid tag after ':': up to 128 letters, digits, '_', '.' and '-', not beginning with '.' or '-'",
    },
    Rule {
        name: "sched has a valid digest",
        at: SCHED,
        rule: "!self.contains('@') || self.matches(r'^[^@]*@sha256:[0-9a-f]{64}$')",
        message: "sched has an invalid digest after '@': sha256: and 64 digits of 0-9 and a-f",
    },
    Rule {
        name: "an env name is valid",
        at: ENV_NAME,
        rule: "self.matches(r'^[A-Za-z_.-][A-Za-z0-9_.-]*$') && self != '.' && !self.startsWith('..')",
        message: "a variable's name has letters, digits, '_', '-' and '.', and begins neither with a digit nor with '..', as in RUST_LOG",
    },
    Rule {
        name: "watchdogTimeout sets its variable alone",
        at: &["spec"],
        rule: "!has(self.watchdogTimeout) || !has(self.env) || self.env.all(e, e.name != 'SCX_TIMEOUT_MS')",
        message: "watchdogTimeout sets SCX_TIMEOUT_MS: take the variable out of env, or leave watchdogTimeout out",
    },
    Rule {
        name: "watchdogTimeout sets a pool's variable alone",
        at: &["spec"],
        rule: "!has(self.watchdogTimeout) || !has(self.pools) || self.pools.all(p, !has(p.env) || p.env.all(e, e.name != 'SCX_TIMEOUT_MS'))",
        message: "watchdogTimeout sets SCX_TIMEOUT_MS for the pools too: take the variable out of their env, or leave watchdogTimeout out",
    },
    Rule {
        name: "watchdogTimeout is a duration",
        at: &["spec.watchdogTimeout"],
        rule: "self.matches(r'^[0-9]{1,5}(ms|s)$')",
        message: "watchdogTimeout is a whole number of seconds or milliseconds with its unit, as in 5s or 1500ms",
    },
    Rule {
        name: "watchdogTimeout is in range",
        at: &["spec.watchdogTimeout"],
        rule: "!self.matches(r'^[0-9]{1,5}(ms|s)$') || (duration(self) >= duration('1s') && duration(self) <= duration('30s'))",
        message: "watchdogTimeout is at least 1s and at most 30s: the kernel's watchdog knows no longer one",
    },
    Rule {
        name: "nodeSelector has valid labels",
        at: NODE_SELECTOR,
        rule: "self.all(k, !format.qualifiedName().validate(k).hasValue())",
        message: "nodeSelector names something that is no label: NAME or PREFIX/NAME, NAME up to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or a digit, as in node.kubernetes.io/pool",
    },
    Rule {
        name: "nodeSelector has valid values",
        at: NODE_SELECTOR_VALUE,
        rule: "!format.labelValue().validate(self).hasValue()",
        message: "a label's value has up to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or a digit",
    },
    Rule {
        name: "nodeSelector has no empty values",
        at: NODE_SELECTOR,
        rule: "self.all(k, dyn(self[k]) != null)",
        message: "a label of nodeSelector has no value, as in `gpu:`, so that it would select nothing or everything: write a value, `gpu: \"\"` where nodes have the label with an empty value, or use affinity with the operator Exists",
    },
    Rule {
        name: "the node affinity is not empty",
        at: AFFINITY,
        // `has` is false for a field that is null.
        rule: "dyn(self).all(k, dyn(self)[k] != null)",
        message: "nodeAffinity has no value, so that it would require nothing: write its terms, or leave it out",
    },
    Rule {
        name: "the required affinity is not empty",
        at: NODE_AFFINITY,
        rule: "dyn(self).all(k, dyn(self)[k] != null)",
        message: "requiredDuringSchedulingIgnoredDuringExecution has no value, so that it would require nothing: write nodeSelectorTerms, or leave it out",
    },
    Rule {
        name: "nodeSelector leaves sked's label alone",
        at: NODE_SELECTOR,
        rule: "!('sked.schedkit.io/owner' in self)",
        message: "sked.schedkit.io/owner is what sked itself writes on nodes: choose nodes by a label of your own",
    },
    Rule {
        name: "a label is valid",
        at: EXPRESSION_KEY,
        rule: "!format.qualifiedName().validate(self).hasValue()",
        message: "key is no label: NAME or PREFIX/NAME, NAME up to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or a digit",
    },
    Rule {
        name: "affinity leaves sked's label alone",
        at: EXPRESSION_KEY,
        rule: "self != 'sked.schedkit.io/owner'",
        message: "sked.schedkit.io/owner is what sked itself writes on nodes: choose nodes by a label of your own",
    },
    Rule {
        name: "In has values",
        at: EXPRESSION,
        rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
        message: "In and NotIn need at least one of values",
    },
    Rule {
        name: "In has valid values",
        at: EXPRESSION,
        rule: "!(self.operator in ['In', 'NotIn']) || !has(self.values) || self.values.all(v, !format.labelValue().validate(v).hasValue())",
        message: "a value for In or NotIn has up to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or a digit",
    },
    Rule {
        name: "Exists has no values",
        at: EXPRESSION,
        rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
        message: "Exists and DoesNotExist compare with nothing: leave out values, or say In or NotIn",
    },
    Rule {
        name: "Gt has a number",
        at: EXPRESSION,
        rule: "!(self.operator in ['Gt', 'Lt']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches(r'^-?[0-9]{1,18}$'))",
        message: "Gt and Lt need exactly one of values, a whole number",
    },
    Rule {
        name: "matchFields is about a node's name",
        at: NODE_FIELD,
        rule: "self.key == 'metadata.name' && self.operator in ['In', 'NotIn'] && has(self.values) && self.values.size() == 1",
        message: "matchFields knows only metadata.name, with In or NotIn and exactly one of values",
    },
    Rule {
        name: "a toleration without a key tolerates all",
        at: &["spec.tolerations[]"],
        rule: "(has(self.key) && self.key != '') || (has(self.operator) && self.operator == 'Exists')",
        message: "a toleration without a key means every taint and needs operator Exists",
    },
    Rule {
        name: "a toleration's key is valid",
        at: &["spec.tolerations[].key"],
        rule: "self == '' || !format.qualifiedName().validate(self).hasValue()",
        message: "key is no taint: NAME or PREFIX/NAME, NAME up to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or a digit",
    },
    Rule {
        name: "a toleration's value is valid",
        at: &["spec.tolerations[].value"],
        rule: "!format.labelValue().validate(self).hasValue()",
        message: "a taint's value has up to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or a digit",
    },
    Rule {
        name: "a toleration with Exists has no value",
        at: &["spec.tolerations[]"],
        rule: "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
        message: "a toleration with operator Exists compares with nothing: leave out value, or say Equal",
    },
    Rule {
        name: "only NoExecute is endured for a time",
        at: &["spec.tolerations[]"],
        rule: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        message: "tolerationSeconds has a meaning for effect NoExecute only: set the effect, or leave it out",
    },
    Rule {
        name: "priorityClassName is a name",
        at: &["spec.priorityClassName"],
        rule: "self == '' || !format.dns1123Subdomain().validate(self).hasValue()",
        message: "priorityClassName is the name of a PriorityClass: lower-case letters, digits, '-' and '.', as in system-node-critical",
    },
    Rule {
        name: "a pull secret has a name",
        at: &["spec.imagePullSecrets[].name"],
        rule: "!format.dns1123Subdomain().validate(self).hasValue()",
        message: "name is the name of a Secret in this namespace: lower-case letters, digits, '-' and '.'",
    },
    Rule {
        name: "resources are those of a container",
        at: RESOURCES,
        rule: "self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'])",
        message: "resources are cpu, memory and ephemeral-storage",
    },
    Rule {
        name: "a quantity is valid",
        at: QUANTITY,
        rule: "type(self) == int || isQuantity(self)",
        message: "a quantity is a number with an optional unit, as in 100m, 0.5, 64Mi or 1G",
    },
    Rule {
        name: "a quantity is not negative",
        at: QUANTITY,
        rule: "type(self) == int ? self >= 0 : (!isQuantity(self) || !quantity(self).isLessThan(quantity('0')))",
        message: "a quantity is at least 0",
    },
    Rule {
        name: "requests are within limits",
        at: &["spec.resources"],
        rule: "!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || !isQuantity(string(self.requests[k])) || !isQuantity(string(self.limits[k])) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",
        message: "requests asks for more than limits allows: lower the request or raise the limit",
    },
    Rule {
        name: "a pool's name is a label",
        at: &["spec.pools[].name"],
        rule: "!format.dns1123Label().validate(self).hasValue()",
        message: "a pool's name has lower-case letters, digits and '-', and begins and ends with a letter or a digit, as in batch",
    },
    Rule {
        name: "canary is no pool",
        at: &["spec.pools[].name"],
        rule: "self != 'canary' && !self.endsWith('-canary')",
        message: "canary, also at the end of a name, is what sked calls the DaemonSets of canaries: give the pool another",
    },
    Rule {
        name: "a pool chooses nodes",
        at: &["spec.pools[].nodeSelector"],
        rule: "self.size() > 0",
        message: "a pool needs at least one label in nodeSelector: without one it would take every node",
    },
    Rule {
        name: "maxUnavailable is at least one",
        at: &["spec.rollout.maxUnavailable"],
        rule: "type(self) == string || self >= 1",
        message: "maxUnavailable is at least 1: a node has one scheduler at a time, so with 0 nothing could ever change",
    },
    Rule {
        name: "maxUnavailable is a percentage",
        at: &["spec.rollout.maxUnavailable"],
        rule: "type(self) == int || self.matches(r'^([1-9][0-9]?|100)%$')",
        message: "maxUnavailable is a number of nodes, as in 1, or a percentage from 1% to 100%, as in 10%",
    },
    Rule {
        name: "a canary has at least one node",
        at: &["spec.rollout.canary.nodes"],
        rule: "type(self) == string || self >= 1",
        message: "a canary has at least 1 node: leave out canary to roll out without one",
    },
    Rule {
        name: "a canary is a percentage",
        at: &["spec.rollout.canary.nodes"],
        rule: "type(self) == int || self.matches(r'^([1-9][0-9]?|100)%$')",
        message: "nodes of a canary is a number of nodes, as in 1, or a percentage from 1% to 100%, as in 10%",
    },
    Rule {
        name: "a duration has a unit",
        at: DURATION,
        rule: "self.matches(r'^[0-9]{1,5}[smh]$')",
        message: "a duration is a whole number of seconds, minutes or hours with its unit, as in 90s, 5m or 1h",
    },
    Rule {
        name: "a duration is at most a week",
        at: DURATION,
        rule: "!self.matches(r'^[0-9]{1,5}[smh]$') || duration(self) <= duration('168h')",
        message: "a duration is at most 168h",
    },
    Rule {
        name: "a scheduler needs time to attach",
        at: &["spec.onFailure.attachDeadline"],
        rule: "!self.matches(r'^[0-9]{1,5}[smh]$') || duration(self) >= duration('10s')",
        message: "attachDeadline is at least 10s: a scheduler has to be loaded and verified by the kernel",
    },
    Rule {
        name: "a window is long enough to count",
        at: &["spec.onFailure.window"],
        rule: "!self.matches(r'^[0-9]{1,5}[smh]$') || duration(self) >= duration('10s')",
        message: "window is at least 10s: ejections are counted within it",
    },
    Rule {
        name: "the name fits a label",
        at: &[""],
        // Only on creation: a name never changes, and the status of existing objects must stay
        // writable.
        rule: "oldSelf.hasValue() || self.metadata.name.size() <= 63",
        message: "the name of a SchedExt has at most 63 characters: it is the value of a label on its pods",
    },
    Rule {
        name: "a pool's DaemonSet has a name that fits",
        at: &[""],
        rule: "!has(self.spec.pools) || self.metadata.name.size() > 63 || self.spec.pools.all(p, self.metadata.name.size() + 1 + p.name.size() <= 63)",
        message: "the name of the SchedExt and that of a pool have at most 62 characters together: <name>-<pool> is the name of the pool's DaemonSet and the value of a label",
    },
];

impl Rule {
    /// Adds the rule to the schema, at those of its paths that `keep` accepts.
    pub(super) fn apply(
        &self,
        schema: &mut JSONSchemaProps,
        keep: &impl Fn(&Rule, &str) -> bool,
    ) -> Result<(), CrdError> {
        for path in self.at {
            let field = field(schema, "rules", path)?;
            if keep(self, path) {
                let rules = field.x_kubernetes_validations.get_or_insert_default();
                rules.push(ValidationRule {
                    rule: self.rule.to_owned(),
                    message: Some(self.message.to_owned()),
                    // Otherwise a rule with oldSelf is not evaluated on creation.
                    optional_old_self: self.rule.contains("oldSelf").then_some(true),
                    ..ValidationRule::default()
                });
            }
        }
        Ok(())
    }
}
