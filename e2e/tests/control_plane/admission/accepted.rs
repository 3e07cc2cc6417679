//! What the API server must accept: the smallest, the largest, and every value at a rule's limit.

use serde_json::{Value, json};
use sked_api::{SchedExt, crd};

use super::schedext::{plain, with};
use super::server::server;

#[test]
fn the_image_is_enough() {
    let accepted = server().offer(&plain()).unwrap();
    assert_eq!(
        accepted["spec"],
        json!({"sched": "ghcr.io/schedkit/scx_rusty:1.1.4", "priority": 0})
    );
}

#[test]
fn a_schedext_of_the_earlier_operator_is_accepted() {
    let earlier = json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": {"name": "scx-rusty", "namespace": "default"},
        "spec": {"sched": "ghcr.io/schedkit/scheds/scx_rusty:latest"},
    });
    server().offer(&earlier).unwrap();
}

#[test]
fn missing_fields_get_their_defaults() {
    let spec = json!({"env": [{"name": "A"}], "rollout": {}});
    let accepted = server().offer(&with("spec", &spec)).unwrap();
    assert_eq!(accepted["spec"]["priority"], 0);
    assert_eq!(accepted["spec"]["env"], json!([{"name": "A", "value": ""}]));
    assert_eq!(accepted["spec"]["rollout"], json!({"maxUnavailable": 1}));
    assert_eq!(
        accepted["spec"].get("imagePullPolicy"),
        None,
        "Kubernetes decides"
    );
}

#[test]
fn values_at_the_limit_of_a_rule_are_accepted() {
    let server = server();
    let mut wrong = Vec::new();
    for (path, values) in limits() {
        for value in values {
            let accepted = server.offer(&with(path, &value));
            // The operator must be able to parse what is accepted.
            let read = accepted.map(serde_json::from_value::<SchedExt>);
            if !matches!(read, Ok(Ok(_))) {
                wrong.push(format!("{path} {value}: {read:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_largest_is_within_the_cost_limit_of_the_rules() {
    let many =
        |count: usize, make: &dyn Fn(usize) -> Value| (0..count).map(make).collect::<Value>();
    let key = |i: usize| format!("{}.io/{}{i:02}", "a".repeat(250), "b".repeat(61));
    let labels = |count| {
        (0..count)
            .map(|i| (key(i), json!("c".repeat(63))))
            .collect::<Value>()
    };
    let env = many(
        64,
        &|i| json!({"name": format!("{}{i:02}", "E".repeat(126)), "value": "v"}),
    );
    let args = many(64, &|_| json!("a".repeat(256)));
    let sched = format!("{}/{}:{}", "h".repeat(63), "p".repeat(191), "t".repeat(128));
    let expressions = many(
        16,
        &|i| json!({"key": key(i), "operator": "In", "values": many(64, &|_| json!("v".repeat(63)))}),
    );
    let spec = json!({
        "sched": sched, "args": args, "env": env, "nodeSelector": labels(32),
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": many(8, &|_| json!({"matchExpressions": expressions})),
            },
            "preferredDuringSchedulingIgnoredDuringExecution":
                many(8, &|_| json!({"weight": 1, "preference": {"matchExpressions": expressions}})),
        }},
        "tolerations": many(32, &|i| json!({"key": key(i), "value": "v".repeat(63)})),
        "imagePullSecrets": many(16, &|i| json!({"name": format!("{}{i:02}", "s".repeat(251))})),
        "pools": many(16, &|i| json!({
            "name": format!("pool-{i:02}"), "nodeSelector": labels(32), "sched": sched,
            "args": args, "env": env,
        })),
    });
    server().offer(&with("spec", &spec)).unwrap();
}

/// The CRD replaces the one of the earlier operator, which has no rules.
#[test]
fn an_object_from_before_the_rules_can_still_get_a_status() {
    let mut server = server();
    server.define(crd::with_rules(|_, _| false).unwrap());
    let name = "before".repeat(11);
    let mut object = with("spec.sched", &json!("not an image"));
    object["metadata"]["name"] = name.clone().into();
    server.create(&object).unwrap();
    server.define(crd::schedext().unwrap());
    let status = json!({"status": {"revision": "seen"}});
    server.patch(&name, "/status", &status).unwrap();
    let label = json!({"metadata": {"labels": {"team": "a"}}});
    server.patch(&name, "", &label).unwrap();
    let worse = json!({"spec": {"sched": "still not an image"}});
    assert_eq!(server.patch(&name, "", &worse).unwrap_err().code, 422);
}

fn limits() -> Vec<(&'static str, Vec<Value>)> {
    let hex = "0123456789abcdef".repeat(4);
    let text = |values: &[&str]| values.iter().map(|value| json!(value)).collect::<Vec<_>>();
    let longest = format!("{}/{}", "h".repeat(63), "p".repeat(191));
    let mut references = text(&[
        "scx_rusty",
        "schedkit/scx_rusty",
        "localhost/scx_rusty",
        "localhost:5000/scx_rusty:1",
        "10.77.0.1:5000/a/b/c/scx_rusty",
        "[fd00::1]:5000/scx_rusty:1.1.4",
        "GHCR.io/schedkit/a__b--c.d:V_1.0-rc",
    ]);
    references.push(json!(format!("scx_rusty@sha256:{hex}")));
    references.push(json!(format!("{hex}:1")));
    references.push(json!(format!("{longest}:{}@sha256:{hex}", "t".repeat(128))));
    let required = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution\
                    .nodeSelectorTerms[]";
    let name = |length| json!({"metadata": {"name": "a".repeat(length)}});
    let pool = json!({
        "metadata": {"name": "a".repeat(40)},
        "spec": {"pools": [{"name": "b".repeat(22), "nodeSelector": {"a": "b"}}]},
    });
    vec![
        ("spec.sched", references.clone()),
        ("spec.pools[].sched", references),
        (
            "spec.env[].name",
            text(&["A", "_", "a.b-c", ".a", "SCX_TIMEOUT_MS"]),
        ),
        (
            "spec.watchdogTimeout",
            text(&["1s", "30s", "1000ms", "30000ms", "05s"]),
        ),
        (
            "spec.nodeSelector",
            vec![json!({}), json!({"example.com/a_b": "", "a": "b.c"})],
        ),
        (
            required,
            vec![
                json!({}),
                json!({"matchExpressions": [
                {"key": "a", "operator": "NotIn", "values": [""]},
                {"key": "a.b/c", "operator": "DoesNotExist", "values": []},
                {"key": "a", "operator": "Gt", "values": ["-5"]},
            ], "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node1"]}]}),
            ],
        ),
        (
            "spec.tolerations[]",
            vec![
                json!({"operator": "Exists"}),
                json!({"key": "", "operator": "Exists", "effect": ""}),
                json!({"key": "a", "operator": "", "value": ""}),
                json!({"key": "a", "effect": "NoExecute", "tolerationSeconds": 0}),
            ],
        ),
        ("spec.priority", vec![json!(-1_000_000), json!(1_000_000)]),
        (
            "spec.priorityClassName",
            text(&["", "system-node-critical"]),
        ),
        (
            "spec.imagePullPolicy",
            text(&["Always", "IfNotPresent", "Never"]),
        ),
        (
            "spec.resources",
            vec![
                json!({}),
                json!({"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"cpu": "1000m"}}),
                json!({"requests": {"cpu": "0.5"}, "limits": {"memory": 0, "ephemeral-storage": "1e3"}}),
            ],
        ),
        (
            "spec.rollout.maxUnavailable",
            vec![json!(1), json!(i32::MAX), json!("1%"), json!("100%")],
        ),
        ("", vec![name(63), pool]),
    ]
}
