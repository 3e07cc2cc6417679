//! The ways to uninstall sked that docs/sked.md lists, and the chart. The last test of the suite: it
//! leaves the cluster without sked.

use serde_json::Value;
use testkit::SharedNodes;
use testkit::node_cluster::{ATTACHED, MANAGER_LABEL, SKED_NAMESPACE, spec, spec_on};
use testkit::nodes::NODES;

#[test]
fn uninstalled_in_each_way_and_installed_again() {
    let mut nodes = testkit::nodes();
    nodes.schedext("lab", &spec(&[]));
    nodes.await_condition("lab", "Ready", ATTACHED);
    a_new_installation_restarts_no_scheduler(&nodes);
    undeploy_removes_everything(&nodes);
    the_chart_installs_and_its_job_takes_labels_off(&nodes);
    nodes.kubectl(&["delete", "node", "left-over"]);
    nodes.accept_what_is_there();
}

/// Without the programs the schedulers go on, and the next installation takes them over as they
/// are.
fn a_new_installation_restarts_no_scheduler(nodes: &SharedNodes) {
    let before = nodes.scheduler_pods();
    for folder in ["config/manager", "config/agent", "config/rbac"] {
        nodes.kubectl(&["delete", "-k", folder, "--timeout=400s"]);
    }
    for node in NODES {
        assert_eq!(nodes.kernel_state(node), "enabled");
    }
    nodes.deploy();
    nodes.kubectl(&["annotate", "schedext", "lab", "seen=again"]);
    nodes.await_condition("lab", "Ready", ATTACHED);
    assert_eq!(nodes.scheduler_pods(), before, "a scheduler was restarted");
}

fn undeploy_removes_everything(nodes: &SharedNodes) {
    leave_an_owner_label(nodes);
    nodes.make(&["undeploy"]);
    for node in NODES {
        nodes.await_kernel_state(node, "disabled");
    }
    assert!(!has_owner_label(nodes));
    assert_eq!(nodes.get("default", "namespace/sked-system"), None);
    assert!(!nodes.try_kubectl(&["get", "schedexts"]), "the CRD is left");
}

/// That it has the objects of `make deploy` is for `fresh_control_plane` to show.
fn the_chart_installs_and_its_job_takes_labels_off(nodes: &SharedNodes) {
    helm_install(nodes);
    nodes.apply_schedext("chart", &spec_on("node1", &[]));
    nodes.await_condition("chart", "Ready", ATTACHED);
    nodes.kubectl(&["delete", "schedext", "chart"]);
    nodes.await_kernel_state("node1", "disabled");
    leave_an_owner_label(nodes);
    let namespace = format!("--namespace={SKED_NAMESPACE}");
    nodes.helm(&["uninstall", "sked", &namespace, "--timeout=400s"]);
    nodes.until("the chart's Job took the label off", || {
        (!has_owner_label(nodes)).then_some(())
    });
}

fn helm_install(nodes: &SharedNodes) {
    let (repository, tag) = nodes.image.rsplit_once(':').unwrap();
    let image = format!("--set=image.repository={repository},image.tag={tag}");
    let namespace = format!("--namespace={SKED_NAMESPACE}");
    let chart = ["install", "sked", "charts/sked"];
    nodes.helm(&[&chart[..], &[&namespace, "--create-namespace", &image]].concat());
    nodes.await_sked();
}

/// Puts an owner label on a Node of its own. A manager that runs would take it off, so the manager
/// is stopped first.
fn leave_an_owner_label(nodes: &SharedNodes) {
    let system = ["-n", SKED_NAMESPACE];
    let manager = [
        "scale",
        "deployment/sked-controller-manager",
        "--replicas=0",
    ];
    nodes.kubectl(&[&manager[..], &system].concat());
    nodes.until("the manager is gone", || {
        let pods = nodes.list(&[&["pods", "-l", MANAGER_LABEL], &system[..]].concat());
        pods.is_empty().then_some(())
    });
    let labels = serde_json::json!({"sked.schedkit.io/owner": "left-over"});
    nodes.node_object("left-over", &labels);
    assert!(has_owner_label(nodes));
}

fn has_owner_label(nodes: &SharedNodes) -> bool {
    let label = "/metadata/labels/sked.schedkit.io~1owner";
    nodes.field("default", "node/left-over", label) != Value::Null
}
