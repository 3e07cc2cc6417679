//! Two real nodes: what a cluster administrator would see. The ground for tests of sked.

#![cfg(test)]

mod support;

use std::sync::OnceLock;
use std::time::Duration;

use lab::{Lab, Topology};
use support::{apply, eventually_or, kubectl, order, picture, up};

const PATIENCE: Duration = Duration::from_secs(180);

/// One cluster for all tests of this file; it ends with this process.
fn cluster() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| up(&order("test-cluster", Topology::Cluster, 2)))
}

/// A scheduler on every node, the way an operator would put it there.
fn daemon_set(name: &str, image: &str) -> String {
    format!(
        r#"{{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {{"name": "{name}"}}, "spec": {{
            "selector": {{"matchLabels": {{"name": "{name}"}}}},
            "template": {{"metadata": {{"labels": {{"name": "{name}"}}}}, "spec": {{
                "hostPID": true, "terminationGracePeriodSeconds": 30,
                "containers": [{{"name": "scx", "image": "registry.lab:5000/{image}", "securityContext": {{"privileged": true}},
                    "volumeMounts": [{{"name": "boot", "mountPath": "/boot", "readOnly": true}}]}}],
                "volumes": [{{"name": "boot", "hostPath": {{"path": "/boot"}}}}]}}}}}}}}"#
    )
}

/// A pod that runs `kubectl` with the service account that every pod has.
fn kubectl_pod(name: &str, node: &str, arguments: &[&str]) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "kubectl", "image": "registry.lab:5000/kubectl:1", "args": arguments}],
        },
    })
    .to_string()
}

fn await_phase(lab: &Lab, pod: &str, phase: &str) {
    let arrived = || {
        let now = kubectl(lab, &["get", "pod", pod, "-o", "jsonpath={.status.phase}"]).stdout;
        assert!(
            now != "Failed" || phase == "Failed",
            "{}",
            kubectl(lab, &["logs", pod]).stdout
        );
        (now == phase).then_some(())
    };
    let what = format!("{pod} is {phase}");
    eventually_or(&what, PATIENCE, arrived, || picture(lab));
}

/// Waits until the kernel of every node has a scheduler of that name attached.
fn await_ops(lab: &Lab, wanted: &str) {
    for node in ["node1", "node2"] {
        let attached = || {
            let said = lab
                .node(node)
                .unwrap()
                .run(&["cat", "/sys/kernel/sched_ext/root/ops"])
                .unwrap();
            (said.status == 0 && said.stdout.starts_with(wanted)).then_some(())
        };
        let what = format!("{wanted:?} on {node}");
        eventually_or(&what, PATIENCE, attached, || picture(lab));
    }
}

/// Waits until the kernel of every node says that it runs its own scheduler.
fn await_default(lab: &Lab) {
    for node in ["node1", "node2"] {
        let detached = || {
            let said = lab
                .node(node)
                .unwrap()
                .run(&["cat", "/sys/kernel/sched_ext/state"])
                .unwrap();
            (said.stdout == "disabled\n").then_some(())
        };
        let what = format!("the default on {node}");
        eventually_or(&what, PATIENCE, detached, || picture(lab));
    }
}

#[test]
fn both_nodes_are_ready_with_a_kernel_that_has_sched_ext() {
    let lab = cluster();
    let nodes = kubectl(lab, &["get", "nodes", "-o", "json"]);
    let nodes: serde_json::Value = serde_json::from_str(&nodes.stdout).unwrap();
    let items = nodes["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    for (item, node) in items.iter().zip(&lab.running().nodes) {
        assert_eq!(item["metadata"]["name"], node.name.as_str());
        assert_eq!(
            item["status"]["nodeInfo"]["kernelVersion"],
            node.kernel.as_str()
        );
        let conditions = item["status"]["conditions"].as_array().unwrap();
        let ready = conditions
            .iter()
            .find(|condition| condition["type"] == "Ready")
            .unwrap();
        assert_eq!(ready["status"], "True");
        let state = lab
            .node(&node.name)
            .unwrap()
            .run(&["cat", "/sys/kernel/sched_ext/state"])
            .unwrap();
        assert!(
            ["enabled\n", "disabled\n"].contains(&state.stdout.as_str()),
            "{state:?}"
        );
    }
}

#[test]
fn schedulers_attach_as_daemon_sets_and_are_heard_through_kubectl() {
    let lab = cluster();
    for (name, image, wanted) in [
        ("bpfland", "scx_bpfland:latest", "bpfland_"),
        ("lab", "scx_lab:latest", "lab_1.1.0"),
    ] {
        apply(lab, &daemon_set(name, image));
        await_ops(lab, wanted);
        let logs = kubectl(lab, &["logs", &format!("daemonset/{name}")]);
        assert_eq!(logs.status, 0, "{}", logs.stderr);
        assert!(!logs.stdout.trim().is_empty(), "{name} said nothing");
        assert_eq!(
            kubectl(lab, &["delete", "daemonset", name, "--wait=true"]).status,
            0
        );
        await_default(lab);
    }
}

#[test]
fn a_pod_is_known_to_the_api_server_and_checks_its_certificate() {
    let lab = cluster();
    apply(lab, &kubectl_pod("asks", "node1", &["auth", "whoami"]));
    await_phase(lab, "asks", "Succeeded");
    let logs = kubectl(lab, &["logs", "asks"]);
    assert!(
        logs.stdout
            .contains("system:serviceaccount:default:default"),
        "{} {}",
        logs.stdout,
        logs.stderr
    );
    // Under a name that the certificate does not carry the request must fail: the check is real.
    let doubt = [
        "--certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "--server=https://10.96.0.1",
        "--tls-server-name=somebody.else",
        "--token=none",
        "get",
        "--raw",
        "/version",
    ];
    apply(lab, &kubectl_pod("doubts", "node1", &doubt));
    await_phase(lab, "doubts", "Failed");
    let logs = kubectl(lab, &["logs", "doubts"]).stdout;
    assert!(logs.contains("not somebody.else"), "{logs}");
    for pod in ["asks", "doubts"] {
        kubectl(lab, &["delete", "pod", pod, "--wait=false"]);
    }
}

#[test]
fn pods_on_different_nodes_reach_each_other_and_exec_works() {
    let lab = cluster();
    let serve = ["proxy", "--address=0.0.0.0", "--accept-hosts=.*"];
    apply(lab, &kubectl_pod("serves", "node2", &serve));
    await_phase(lab, "serves", "Running");
    let exec = kubectl(
        lab,
        &["exec", "serves", "--", "/kubectl", "version", "--client"],
    );
    assert!(
        exec.stdout.starts_with("Client Version"),
        "{} {}",
        exec.stdout,
        exec.stderr
    );
    let ip = kubectl(
        lab,
        &["get", "pod", "serves", "-o", "jsonpath={.status.podIP}"],
    )
    .stdout;
    assert!(ip.starts_with("10.244.2."), "{ip}");
    let server = format!("--server=http://{ip}:8001");
    apply(
        lab,
        &kubectl_pod("visits", "node1", &[&server, "get", "--raw", "/version"]),
    );
    await_phase(lab, "visits", "Succeeded");
    let logs = kubectl(lab, &["logs", "visits"]).stdout;
    assert!(logs.contains("gitVersion"), "{logs}");
    for pod in ["serves", "visits"] {
        kubectl(lab, &["delete", "pod", pod, "--wait=false"]);
    }
}
