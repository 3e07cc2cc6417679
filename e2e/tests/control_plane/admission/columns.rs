//! The columns of `kubectl get sx`.

use serde_json::json;

use super::schedext::plain;
use super::server::{Server, server};

#[test]
fn kubectl_shows_the_columns() {
    let mut server = server();
    let mut object = plain();
    object["metadata"]["name"] = "shown".into();
    server.create(&object).unwrap();
    let condition = json!({
        "type": "Ready", "status": "Unknown", "reason": "NoKernelReport",
        "message": "no report", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({"status": {
        "revision": "5f6d", "ops": "rusty_1.1.4", "conditions": [condition],
        "counts": {"desired": 3, "conflicted": 1, "ejected": 2},
        "verification": "not verified",
    }});
    server.patch("shown", "/status", &status).unwrap();
    let columns = [
        "NAME", "SCHED", "DESIRED", "ATTACHED", "READY", "REASON", "AGE",
    ];
    for name in ["sx", "schedext", "schedexts", "schedkit"] {
        assert_eq!(table(&server, &["get", name])[0], columns, "{name}");
    }
    let wide = table(&server, &["get", "sx", "shown", "-o", "wide"]);
    let more = [
        "OPS",
        "REVISION",
        "CONFLICTS",
        "EJECTED",
        "ROLLOUT",
        "VERIFIED",
    ];
    assert_eq!(wide[0], [&columns[..], &more].concat());
    let image = "ghcr.io/schedkit/scx_rusty:1.1.4";
    // The number of attached nodes is unknown: the column is empty, not 0.
    assert_eq!(
        wide[1][..5],
        ["shown", image, "3", "Unknown", "NoKernelReport"]
    );
    assert_eq!(
        wide[1][6..],
        ["rusty_1.1.4", "5f6d", "1", "2", "not", "verified"]
    );
}

fn table(server: &Server, args: &[&str]) -> Vec<Vec<String>> {
    let text = server.cluster.kubectl(args);
    let line = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    text.lines().map(line).collect()
}
