//! Packets to the API server are lost and no connection is closed, as when something on the way
//! forgets them. Nothing is sent on an idle watch, so only the kernel's probes can tell.

use serde_json::json;
use testkit::node_agent::{AgentNode, KernelFiles};
use testkit::silent_network::SilentNetwork;

#[test]
fn lost_packets_are_noticed_by_manager_and_agent() {
    let cluster = testkit::control_plane();
    cluster.namespace("silent");
    let network = SilentNetwork::new("sked-silent");
    let node = AgentNode::new(&cluster, "silent");
    let kernel = KernelFiles::idle();
    let kubeconfig = network.kubeconfig(&cluster, "silent-manager", |_| {});
    let watched = ["--watch-namespaces=silent"];
    let manager = network.sked(&cluster, "manager", &kubeconfig, &watched);
    let kubeconfig = network.kubeconfig(&cluster, "silent-agent", |config| {
        node.authenticate(config);
    });
    let token = format!("--token-file={}", node.token().display());
    let root = format!("--host-root={}", kernel.path().display());
    let agent = network.sked(&cluster, "node-agent", &kubeconfig, &[&token, &root]);
    let logged = |text: &str| manager.log().contains(text);
    manager.eventually("the manager works", || logged("caches are synced"));
    agent.eventually("the agent works", || node.status()["state"] == "disabled");

    network.lose_packets();
    manager.eventually("the manager notices", || {
        logged("continues with its cached state")
    });
    agent.eventually("the agent notices", || {
        agent.log().contains("the own report is not watched")
    });

    network.pass_packets();
    cluster.schedext("silent", "a", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the manager works again", || {
        cluster.get("silent", "daemonset/a").is_some()
    });
    manager.stop();
    agent.stop();
}
