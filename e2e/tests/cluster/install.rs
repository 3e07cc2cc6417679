//! What `make deploy` promises. The fixture has deployed sked once already.

use std::process::Command;

use serde_json::Value;
use testkit::NodeCluster;
use testkit::node_cluster::{AGENT_LABEL, MANAGER_LABEL, SKED_NAMESPACE};
use testkit::nodes::NODES;

#[test]
fn make_deploy_installs_one_manager_and_an_agent_on_each_node() {
    let nodes = testkit::nodes();
    let tree = tree_status();
    let manager = manager_pod(&nodes);
    nodes.deploy();
    assert_eq!(tree_status(), tree, "make deploy changed the tree");
    let (uid, image) = ("/metadata/uid", "/spec/containers/0/image");
    let again = manager_pod(&nodes);
    assert_eq!(again.pointer(uid), manager.pointer(uid), "it was restarted");
    assert_eq!(manager.pointer(image).unwrap(), nodes.image.as_str());

    let agents = nodes.sked_pods(AGENT_LABEL);
    let mut on: Vec<_> = agents.iter().map(|(_, node)| node.as_str()).collect();
    on.sort_unstable();
    assert_eq!(on, NODES);
    for node in NODES {
        let report = nodes.read(&["sxn", node]);
        assert_eq!(report["status"]["state"], "disabled", "{report}");
    }

    let lease = "lease/b4c95cb3.schedkit.io";
    let holder = nodes.field(SKED_NAMESPACE, lease, "/spec/holderIdentity");
    assert!(holder.is_string(), "{holder}");
    let addresses = ready_addresses(&nodes);
    assert_eq!(addresses, [manager["status"]["podIP"].clone()]);
}

/// The manager's pod; no other has its label.
fn manager_pod(nodes: &NodeCluster) -> Value {
    let pods = nodes.list(&["pods", "-n", SKED_NAMESPACE, "-l", MANAGER_LABEL]);
    assert_eq!(pods.len(), 1, "{pods:#?}");
    pods[0].clone()
}

/// What is behind the metrics Service.
fn ready_addresses(nodes: &NodeCluster) -> Vec<Value> {
    let service = "kubernetes.io/service-name=sked-controller-manager-metrics-service";
    nodes.until("the metrics Service has an address", || {
        let slices = nodes.list(&["endpointslices", "-n", SKED_NAMESPACE, "-l", service]);
        let endpoints = slices
            .iter()
            .filter_map(|slice| slice["endpoints"].as_array());
        let ready = endpoints
            .flatten()
            .filter(|endpoint| endpoint["conditions"]["ready"] == true);
        let addresses: Vec<_> = ready
            .map(|endpoint| endpoint["addresses"][0].clone())
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    })
}

/// What is in the tree that is not committed.
fn tree_status() -> String {
    let mut git = Command::new("git");
    git.current_dir(testkit::program::tree());
    let output = git.args(["status", "--porcelain"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
