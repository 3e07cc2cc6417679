//! The nodes themselves: what every other test takes for granted.

use serde_json::{Value, json};
use testkit::SharedNodes;

#[test]
fn both_nodes_are_ready_with_a_kernel_that_has_sched_ext() {
    let nodes = testkit::nodes();
    let objects = nodes.list(&["nodes"]);
    assert_eq!(objects.len(), 2);
    for (object, node) in objects.iter().zip(&nodes.lab().running().nodes) {
        assert_eq!(object["metadata"]["name"], node.name.as_str());
        let kernel = &object["status"]["nodeInfo"]["kernelVersion"];
        assert_eq!(kernel, node.kernel.as_str());
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|one| one["type"] == "Ready");
        assert_eq!(ready.unwrap()["status"], "True");
        assert_eq!(nodes.kernel_state(&node.name), "disabled");
    }
}

/// Pods know who they are to the API server and check its certificate, pods on different nodes
/// reach each other, and kubectl exec works.
#[test]
fn pods_reach_the_api_server_and_each_other() {
    let nodes = testkit::nodes();
    nodes.create(&kubectl_pod("account", "node1", &["auth", "whoami"]));
    // Under a name that the certificate does not have the request must fail.
    let wrong_name = [
        "--certificate-authority=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "--server=https://10.96.0.1",
        "--tls-server-name=wrong.name",
        "--token=none",
        "get",
        "--raw",
        "/version",
    ];
    nodes.create(&kubectl_pod("wrong-name", "node1", &wrong_name));
    let serve = ["proxy", "--address=0.0.0.0", "--accept-hosts=.*"];
    nodes.create(&kubectl_pod("server", "node2", &serve));

    await_phase(&nodes, "server", "Running");
    let ip = nodes.field("default", "pod/server", "/status/podIP");
    let ip = ip.as_str().unwrap();
    assert!(ip.starts_with("10.244.2."), "{ip}");
    let server = format!("--server=http://{ip}:8001");
    let visit = [&server, "get", "--raw", "/version"];
    nodes.create(&kubectl_pod("client", "node1", &visit));
    let exec = ["exec", "server", "--", "/kubectl", "version", "--client"];
    let version = nodes.kubectl(&exec);
    assert!(version.starts_with("Client Version"), "{version}");

    for (pod, phase, expected) in [
        (
            "account",
            "Succeeded",
            "system:serviceaccount:default:default",
        ),
        ("wrong-name", "Failed", "not wrong.name"),
        ("client", "Succeeded", "gitVersion"),
    ] {
        await_phase(&nodes, pod, phase);
        let logs = nodes.kubectl(&["logs", pod]);
        assert!(logs.contains(expected), "{pod}: {logs}");
    }
    let pods = ["account", "wrong-name", "server", "client"];
    nodes.kubectl(&[&["delete", "pod", "--wait=false"], &pods[..]].concat());
}

/// A pod that runs `kubectl` with the service account that every pod has.
fn kubectl_pod(name: &str, node: &str, args: &[&str]) -> Value {
    let container =
        json!({"name": "kubectl", "image": "registry.lab:5000/kubectl:1", "args": args});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
        },
    })
}

fn await_phase(nodes: &SharedNodes, pod: &str, wanted: &str) {
    nodes.until(&format!("{pod} is {wanted}"), || {
        let phase = nodes.field("default", &format!("pod/{pod}"), "/status/phase");
        assert!(
            phase != "Failed" || wanted == "Failed",
            "{}",
            nodes.kubectl(&["logs", pod])
        );
        (phase == wanted).then_some(())
    });
}
