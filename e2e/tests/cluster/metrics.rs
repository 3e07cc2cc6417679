//! The metrics of the manager and of the agents, read as docs/operations.md shows it.

use testkit::NodeCluster;
use testkit::node_cluster::AGENT_LABEL;

/// What `/metrics` of the manager answers to a service account of the tests' namespace: through
/// the Service, with the account's token and nothing else.
pub(crate) fn of_manager(nodes: &NodeCluster, account: &str) -> String {
    let service = "service/sked-controller-manager-metrics-service";
    let forward = nodes.forward(service, 8443);
    let token = nodes.kubectl(&["create", "token", account]);
    let output = nodes
        .command(&["get", "--raw", "/metrics", "--insecure-skip-tls-verify"])
        .arg(format!("--server=https://127.0.0.1:{}", forward.port))
        .arg(format!("--token={}", token.trim()))
        // Not the administrator's certificate.
        .env("KUBECONFIG", "/dev/null")
        .output()
        .unwrap();
    [output.stdout, output.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat()
}

/// What `/metrics` of the agent on a node answers to anybody.
pub(crate) fn of_agent(nodes: &NodeCluster, node: &str) -> String {
    let pods = nodes.sked_pods(AGENT_LABEL);
    let (pod, _) = pods.iter().find(|(_, on)| on == node).unwrap();
    let forward = nodes.forward(&format!("pod/{pod}"), 8080);
    let url = format!("http://127.0.0.1:{}/metrics", forward.port);
    let mut answer = ureq::get(&url).call().unwrap();
    answer.body_mut().read_to_string().unwrap()
}
