//! Generators of SchedExts and nodes, from small sets of values so that they overlap.

use k8s_openapi::api::core::v1::{Taint, Toleration};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sked_api::{Pool, SchedExt, SchedExtSpec};
use sked_plan::eligibility::{Eligibility, ExclusionReason};
use sked_plan::{Node, Uid};

use crate::cluster::Cluster;

/// 64 cases by default; `PROPTEST_CASES` sets another number.
pub(crate) fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(64),
    }
}

const KEYS: &[&str] = &["zone", "disk", "cores"];
const VALUES: &[&str] = &["a", "b", "8", "16"];

fn label() -> impl Strategy<Value = (String, String)> {
    (select(KEYS), select(VALUES)).prop_map(|(key, value)| (key.to_owned(), value.to_owned()))
}

pub(crate) fn node(at: usize) -> impl Strategy<Value = Node> {
    let owner = option::weighted(
        0.2,
        select(&["foreign", "0123456789abcdef", "nonsense"][..]),
    );
    let taint = option::weighted(
        0.2,
        select(&["NoSchedule", "NoExecute", "PreferNoSchedule"][..]),
    );
    (vec(label(), 0..3), owner, taint).prop_map(move |(labels, owner, taint)| Node {
        name: format!("node{at}").into(),
        uid: Uid(format!("uid-of-node{at}")),
        boot_id: String::new(),
        labels: labels
            .into_iter()
            .chain(owner.map(|owner| (sked_api::label::OWNER.to_owned(), owner.to_owned())))
            .collect(),
        taints: taint.into_iter().map(tainted).collect(),
    })
}

fn tainted(effect: &str) -> Taint {
    Taint {
        key: "reserved".to_owned(),
        value: Some("yes".to_owned()),
        effect: effect.to_owned(),
        time_added: None,
    }
}

pub(crate) fn nodes() -> impl Strategy<Value = Vec<Node>> {
    (node(0), node(1), node(2), node(3), 0..5_usize).prop_map(|(a, b, c, d, count)| {
        let mut nodes = vec![a, b, c, d];
        nodes.truncate(count);
        nodes
    })
}

fn rule() -> impl Strategy<Value = Value> {
    let listed = (
        select(KEYS),
        select(&["In", "NotIn"][..]),
        vec(select(VALUES), 1..3),
    )
        .prop_map(
            |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
        );
    let there = (select(KEYS), select(&["Exists", "DoesNotExist"][..]))
        .prop_map(|(key, operator)| json!({"key": key, "operator": operator}));
    let compared = select(&["Gt", "Lt"][..])
        .prop_map(|operator| json!({"key": "cores", "operator": operator, "values": ["10"]}));
    prop_oneof![listed, there, compared]
}

fn term() -> impl Strategy<Value = Value> {
    let named = vec(select(&["node0", "node1"][..]), 0..2).prop_map(|names| match &names[..] {
        [] => json!([]),
        names => json!([{"key": "metadata.name", "operator": "In", "values": names}]),
    });
    (vec(rule(), 0..2), named)
        .prop_map(|(labels, fields)| json!({"matchExpressions": labels, "matchFields": fields}))
}

fn affinity() -> impl Strategy<Value = Value> {
    vec(term(), 1..3).prop_map(|terms| {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": terms}}})
    })
}

fn toleration() -> impl Strategy<Value = Toleration> {
    let operators = select(&[(None, Some("yes")), (Some("Exists"), None)][..]);
    (operators, option::of(Just("reserved"))).prop_map(|((operator, value), key)| Toleration {
        key: key.map(str::to_owned),
        operator: operator.map(str::to_owned),
        value: value.map(str::to_owned),
        ..Toleration::default()
    })
}

fn pool(name: &'static str) -> impl Strategy<Value = Pool> {
    (label(), option::of(Just("registry.example/other:1"))).prop_map(move |(label, sched)| Pool {
        name: name.to_owned(),
        node_selector: [label].into(),
        sched: sched.map(str::to_owned),
        ..Pool::default()
    })
}

pub(crate) fn spec() -> impl Strategy<Value = SchedExtSpec> {
    let pools = (option::of(pool("x")), option::of(pool("y")));
    let selector = vec(label(), 0..2);
    let affinity = option::weighted(0.3, affinity());
    let tolerations = vec(toleration(), 0..2);
    let image = select(&["registry.example/one:1", "registry.example/one:latest"][..]);
    (image, selector, affinity, tolerations, pools, -1..2_i32).prop_map(
        |(image, selector, affinity, tolerations, (x, y), priority)| SchedExtSpec {
            sched: image.to_owned(),
            node_selector: selector.into_iter().collect(),
            affinity: affinity.map(|affinity| serde_json::from_value(affinity).unwrap()),
            tolerations,
            priority,
            pools: x.into_iter().chain(y).collect(),
            ..SchedExtSpec::default()
        },
    )
}

/// Its name is one of four, so that `a-x` may be a SchedExt and a pool of `a`.
pub(crate) fn named(name: &str, uid: u64, created: i64, spec: SchedExtSpec) -> SchedExt {
    let mut schedext = SchedExt::new(name, spec);
    schedext.metadata.namespace = Some("default".to_owned());
    schedext.metadata.uid = Some(format!("sx-{uid}"));
    schedext.metadata.generation = Some(1);
    let created = jiff::Timestamp::from_second(created).unwrap();
    schedext.metadata.creation_timestamp = Some(
        k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(created),
    );
    schedext
}

pub(crate) const NAMES: &[&str] = &["a", "b", "a-x", "c"];

fn schedext(at: usize) -> impl Strategy<Value = Option<SchedExt>> {
    let one = (spec(), 0..3_i64)
        .prop_map(move |(spec, created)| named(NAMES[at], at as u64, created, spec));
    option::weighted(0.7, one)
}

/// Most kernels are eligible; the others are excluded for either reason.
fn eligibility() -> impl Strategy<Value = Eligibility> {
    prop_oneof![
        3 => Just(Eligibility::Eligible),
        1 => Just(Eligibility::Excluded(ExclusionReason::Unsupported("6.1.0".to_owned()))),
        1 => Just(Eligibility::Excluded(ExclusionReason::Foreign(None))),
    ]
}

/// A cluster in which sked has written nothing yet.
pub(crate) fn cluster() -> impl Strategy<Value = Cluster> {
    let schedexts = (schedext(0), schedext(1), schedext(2), schedext(3));
    let eligibility = vec(option::weighted(0.5, eligibility()), 8);
    let all = (schedexts, nodes(), eligibility);
    all.prop_map(|((a, b, c, d), nodes, eligibility)| Cluster {
        schedexts: [a, b, c, d].into_iter().flatten().collect(),
        eligibility: nodes
            .iter()
            .zip(eligibility)
            .filter_map(|(node, eligibility)| Some((node.name.clone(), eligibility?)))
            .collect(),
        nodes,
        born: 10,
        ..Cluster::default()
    })
}
