//! For every rule the values that this rule alone rejects.

use serde_json::{Value, json};

/// Names of rules, and values that they reject.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Value>)> {
    let hex = "0123456789abcdef".repeat(4);
    let long = |letter: &str, length| letter.repeat(length);
    vec![
        (
            "sched is one word",
            vec![
                json!("ghcr.io/schedkit/scx rusty:1"),
                json!("ghcr.io/schedkit/scx_rusty --slice 5000"),
                json!(" ghcr.io/schedkit/scx_rusty"),
                json!("ghcr.io/schedkit/scx\u{0}"),
                json!("ghcr.io/schedkit/scx\n"),
            ],
        ),
        (
            "sched has no scheme",
            vec![
                json!("https://ghcr.io/schedkit/scx_rusty:1"),
                json!("docker://scx_rusty"),
            ],
        ),
        (
            "sched has a well-formed name",
            vec![
                json!(""),
                json!("/scx_rusty"),
                json!("ghcr.io/"),
                json!("ghcr.io//scx_rusty"),
                json!("ghcr.io/Schedkit/scx_rusty"),
                json!("ghcr.io/schedkit/_rusty:1"),
                json!("ghcr.io/schedkit/scx_-rusty"),
                json!("my_host:5000/scx_rusty"),
                json!("ghcr.io:port/scx_rusty"),
                json!("-ghcr.io:443/scx_rusty"),
                json!("ghcr.io/schedkit/scx_rüsty"),
                json!("ghcr.io/$(reboot)"),
                json!(format!("@sha256:{hex}")),
            ],
        ),
        (
            "sched has a name that fits",
            vec![
                json!(format!("ghcr.io/{}", long("a", 248))),
                json!(format!("ghcr.io:443/{}:1@sha256:{hex}", long("a", 244))),
            ],
        ),
        ("sched is no image ID", vec![json!(hex)]),
        (
            "sched has a valid tag",
            vec![
                json!("ghcr.io/schedkit/scx_rusty:"),
                json!("ghcr.io/schedkit/scx_rusty:-1"),
                json!("ghcr.io/schedkit/scx_rusty:1:2"),
                json!("ghcr.io:443/schedkit/scx_rusty:1+2"),
                json!(format!("scx_rusty:@sha256:{hex}")),
                json!(format!("scx_rusty:{}", long("a", 129))),
            ],
        ),
        (
            "sched has a valid digest",
            vec![
                json!("ghcr.io/schedkit/scx_rusty@"),
                json!("ghcr.io/schedkit/scx_rusty:1@latest"),
                json!("ghcr.io/schedkit/scx_rusty@sha256:0123"),
                json!(format!("scx_rusty@md5:{hex}")),
                json!(format!("scx_rusty@sha256:{}", hex.to_uppercase())),
                json!(format!("scx_rusty@sha256:{hex}@sha256:{hex}")),
            ],
        ),
        (
            "an env name is valid",
            vec![
                json!(""),
                json!("1A"),
                json!("A B"),
                json!("A=B"),
                json!("."),
                json!("..A"),
            ],
        ),
        (
            "watchdogTimeout sets its variable alone",
            vec![
                json!({"watchdogTimeout": "5s", "env": [{"name": "SCX_TIMEOUT_MS", "value": "1"}]}),
            ],
        ),
        (
            "watchdogTimeout sets a pool's variable alone",
            vec![json!({"watchdogTimeout": "5s", "pools": [
                {"name": "a", "nodeSelector": {"a": "b"}, "env": [{"name": "SCX_TIMEOUT_MS"}]},
            ]})],
        ),
        (
            "watchdogTimeout is a duration",
            vec![
                json!(""),
                json!("5"),
                json!("5 s"),
                json!("1m"),
                json!("-5s"),
                json!("s"),
                json!("1.5s"),
            ],
        ),
        (
            "watchdogTimeout is in range",
            vec![json!("0s"), json!("999ms"), json!("31s"), json!("30001ms")],
        ),
        (
            "nodeSelector has valid labels",
            vec![
                json!({"a b": "c"}),
                json!({"a/b/c": "d"}),
                json!({"-a": "b"}),
                json!({"": "b"}),
            ],
        ),
        (
            "nodeSelector has valid values",
            vec![json!("-"), json!("a b"), json!("a/b"), json!("a-")],
        ),
        (
            "nodeSelector has no empty values",
            vec![json!({"gpu": null}), json!({"zone": "a", "gpu": null})],
        ),
        (
            "the node affinity is not empty",
            vec![json!({"nodeAffinity": null})],
        ),
        (
            "the required affinity is not empty",
            vec![json!({"requiredDuringSchedulingIgnoredDuringExecution": null})],
        ),
        (
            "nodeSelector leaves sked's label alone",
            vec![json!({"sked.schedkit.io/owner": "foreign"})],
        ),
        (
            "a label is valid",
            vec![json!(""), json!("a b"), json!("a/b/c")],
        ),
        (
            "affinity leaves sked's label alone",
            vec![json!("sked.schedkit.io/owner")],
        ),
        (
            "In has values",
            vec![
                json!({"key": "a", "operator": "In"}),
                json!({"key": "a", "operator": "NotIn", "values": []}),
            ],
        ),
        (
            "In has valid values",
            vec![json!({"key": "a", "operator": "In", "values": ["b", "a b"]})],
        ),
        (
            "Exists has no values",
            vec![
                json!({"key": "a", "operator": "Exists", "values": ["b"]}),
                json!({"key": "a", "operator": "DoesNotExist", "values": ["b"]}),
            ],
        ),
        (
            "Gt has a number",
            vec![
                json!({"key": "a", "operator": "Gt"}),
                json!({"key": "a", "operator": "Gt", "values": ["1", "2"]}),
                json!({"key": "a", "operator": "Lt", "values": ["ten"]}),
            ],
        ),
        (
            "matchFields is about a node's name",
            vec![
                json!({"key": "spec.podCIDR", "operator": "In", "values": ["a"]}),
                json!({"key": "metadata.name", "operator": "Exists"}),
                json!({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}),
            ],
        ),
        (
            "a toleration without a key tolerates all",
            vec![json!({}), json!({"key": "", "value": "a"})],
        ),
        (
            "a toleration's key is valid",
            vec![json!("a b"), json!("a/b/c")],
        ),
        (
            "a toleration's value is valid",
            vec![json!("-"), json!("a b")],
        ),
        (
            "a toleration with Exists has no value",
            vec![json!({"key": "a", "operator": "Exists", "value": "b"})],
        ),
        (
            "only NoExecute is endured for a time",
            vec![
                json!({"key": "a", "tolerationSeconds": 5}),
                json!({"key": "a", "tolerationSeconds": 5, "effect": "NoSchedule"}),
            ],
        ),
        (
            "priorityClassName is a name",
            vec![json!("High"), json!("a b"), json!("-a")],
        ),
        (
            "a pull secret has a name",
            vec![json!(""), json!("Pull"), json!("a/b")],
        ),
        (
            "resources are those of a container",
            vec![json!({"cpus": "1"}), json!({"nvidia.com/gpu": 1})],
        ),
        (
            "a quantity is valid",
            vec![json!(""), json!("one"), json!("1 Gi"), json!("1GiB")],
        ),
        (
            "a quantity is not negative",
            vec![json!(-1), json!("-100m")],
        ),
        (
            "requests are within limits",
            vec![
                json!({"requests": {"cpu": 2}, "limits": {"cpu": "1500m"}}),
                json!({"requests": {"memory": "2Gi"}, "limits": {"memory": "2G"}}),
            ],
        ),
        (
            "a pool's name is a label",
            vec![json!(""), json!("Batch"), json!("a.b"), json!("-a")],
        ),
        (
            "canary is no pool",
            vec![json!("canary"), json!("batch-canary")],
        ),
        ("a pool chooses nodes", vec![json!({})]),
        ("maxUnavailable is at least one", vec![json!(0)]),
        (
            "maxUnavailable is a percentage",
            vec![
                json!(""),
                json!("1"),
                json!("0%"),
                json!("101%"),
                json!("05%"),
                json!("all"),
            ],
        ),
        ("a canary has at least one node", vec![json!(0)]),
        (
            "a canary is a percentage",
            vec![json!(""), json!("1"), json!("0%"), json!("101%")],
        ),
        (
            "a duration has a unit",
            vec![
                json!(""),
                json!("90"),
                json!("90 s"),
                json!("1d"),
                json!("-5s"),
                json!("1.5m"),
                json!("500ms"),
            ],
        ),
        (
            "a duration is at most a week",
            vec![json!("169h"), json!("99999m")],
        ),
        (
            "a scheduler needs time to attach",
            vec![json!("0s"), json!("9s")],
        ),
        ("a window is long enough to count", vec![json!("9s")]),
        (
            "the name fits a label",
            vec![json!({"metadata": {"name": long("a", 64)}})],
        ),
        (
            "a pool's DaemonSet has a name that fits",
            vec![json!({
                "metadata": {"name": long("a", 40)},
                "spec": {"pools": [
                    {"name": "b", "nodeSelector": {"a": "b"}},
                    {"name": long("c", 23), "nodeSelector": {"a": "c"}},
                ]},
            })],
        ),
    ]
}
