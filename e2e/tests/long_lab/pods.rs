//! Pods on the lab's nodes: their accounts, their network, and kubectl exec and logs.

use lab::spec::DEFAULT_KERNEL;
use serde_json::{Value, json};
use testkit::{NodeCluster, program};

/// Pods know who they are to the API server and check its certificate, pods on different nodes
/// reach each other, and kubectl exec works.
#[test]
fn pods_reach_the_api_server_and_each_other() {
    let nodes = NodeCluster::up("e2e-pods", DEFAULT_KERNEL, 2, &program::sked());
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

fn await_phase(nodes: &NodeCluster, pod: &str, wanted: &str) {
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
