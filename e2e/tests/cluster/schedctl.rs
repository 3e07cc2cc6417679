//! schedctl on a node whose kernel runs a scheduler that sked started.

use lab::CommandOutput;
use serde_json::{Value, json};
use testkit::SharedNodes;
use testkit::node_cluster::{ATTACHED, SCX_LAB, spec_on};

const DRIVERS: [&str; 2] = ["podman", "containerd"];

#[test]
fn what_sked_runs_is_recognised_and_left_alone() {
    let nodes = testkit::nodes();
    for driver in DRIVERS {
        assert_eq!(status(&nodes, driver)["status"], "idle");
    }
    nodes.schedext("lab", &spec_on("node2", &[]));
    nodes.await_condition("lab", "Ready", ATTACHED);
    let pod = scheduler_pod(&nodes);
    for driver in DRIVERS {
        is_recognised(&nodes, driver, &pod);
        is_not_ended(&nodes, driver, &pod);
    }
    let after = scheduler_pod(&nodes);
    for path in ["/metadata/uid", "/status/containerStatuses/0/restartCount"] {
        assert_eq!(after.pointer(path), pod.pointer(path), "it was restarted");
    }
    nodes.kubectl(&["delete", "schedext", "lab"]);
    nodes.await_kernel_state("node2", "disabled");
    nodes.until("schedctl reports an idle machine", || {
        let status = status(&nodes, "podman");
        (status["status"] == "idle" && status["managed_by"].is_null()).then_some(())
    });
}

fn is_recognised(nodes: &SharedNodes, driver: &str, pod: &Value) {
    let status = status(nodes, driver);
    assert_eq!(status["status"], "running", "{status:#}");
    assert_eq!(status["discrepancy"], Value::Null);
    assert_eq!(status["managed_by"], "sked");
    let name = &pod["metadata"]["name"];
    let sked = json!({"namespace": "default", "pod": name, "daemonset": "lab"});
    assert_eq!(status["sked"], sked);
    let scheduler = &status["scheduler"];
    assert_eq!(scheduler["name"], "scx_lab", "{scheduler:#}");
    assert_eq!(scheduler["container_id"], container_id(pod));
    assert_eq!(scheduler["image"], SCX_LAB);
    assert_eq!(scheduler["driver"], "containerd");
    assert!(scheduler["started_at"].is_string(), "{scheduler:#}");
    let pid = scheduler["pid"].to_string();
    let command = nodes.node("node2").must(&format!("cat /proc/{pid}/comm"));
    assert_eq!(command.unwrap(), "scx_lab");
    assert_eq!(status["kernel"]["enabled"], true);
    assert_eq!(status["containers"], json!([]), "it is not schedctl's");
    assert_eq!(status["warnings"], json!([]), "{status:#}");

    let text = schedctl(nodes, driver, &["status"]);
    assert_eq!(text.status, 0);
    let name = name.as_str().unwrap();
    for expected in [&format!("default/{name}"), "DaemonSet default/lab"] {
        assert!(text.stdout.contains(expected), "{}", text.stdout);
    }
    let ps = schedctl(nodes, driver, &["ps"]);
    assert_eq!(
        (ps.status, ps.stdout.lines().count()),
        (0, 1),
        "{}",
        ps.stdout
    );
    assert!(ps.stdout.starts_with("PID  ID  NAME"), "{}", ps.stdout);
}

fn is_not_ended(nodes: &SharedNodes, driver: &str, pod: &Value) {
    let name = pod["metadata"]["name"].as_str().unwrap();
    for scheduler in ["scx_lab", name, "lab", &container_id(pod)[..12]] {
        let refused = schedctl(nodes, driver, &["stop", scheduler]);
        assert_eq!(refused.status, 1, "{}", refused.text());
        names_the_remedy(&refused);
    }
    let unknown = schedctl(nodes, driver, &["stop", "scx_unknown"]);
    assert_eq!(unknown.status, 0, "{}", unknown.text());
    for (verb, image) in [
        ("run", SCX_LAB),
        ("switch", "registry.lab:5000/scx_other:latest"),
    ] {
        let refused = schedctl(nodes, driver, &[verb, image]);
        assert_eq!(refused.status, 5, "{}", refused.text());
        assert!(
            refused.text().contains(&format!("default/{name}")),
            "{}",
            refused.text()
        );
        names_the_remedy(&refused);
    }
}

fn names_the_remedy(refused: &CommandOutput) {
    let text = refused.text();
    let remedy = "kubectl -n default edit schedext lab";
    assert!(text.contains("sked") && text.contains(remedy), "{text}");
}

/// The scheduler's pod, when kubelet has reported its container; there is no other.
fn scheduler_pod(nodes: &SharedNodes) -> Value {
    nodes.until("kubelet has reported the container", || {
        let pods = nodes.list(&["pods", "-l", "name=lab"]);
        assert_eq!(pods.len(), 1, "{pods:#?}");
        let id = pods[0].pointer("/status/containerStatuses/0/containerID");
        id.is_some().then(|| pods[0].clone())
    })
}

fn container_id(pod: &Value) -> &str {
    let id = pod["status"]["containerStatuses"][0]["containerID"].as_str();
    id.unwrap().strip_prefix("containerd://").unwrap()
}

fn schedctl(nodes: &SharedNodes, driver: &str, args: &[&str]) -> CommandOutput {
    let args = [&["schedctl", "-d", driver], args].concat();
    nodes.node("node2").run(&args).unwrap()
}

fn status(nodes: &SharedNodes, driver: &str) -> Value {
    let output = schedctl(nodes, driver, &["status", "-o", "json"]);
    assert_eq!(output.status, 0, "{}", output.text());
    serde_json::from_str(&output.stdout).unwrap()
}
