//! What the nodes' kernels report reaches the SchedExt: attached, ejected, taken by another one.
//! The version for every change; `long_kernel_state` goes on with reboots, outages and every way to
//! fail.

use serde_json::{Value, json};
use testkit::SharedNodes;
use testkit::node_cluster::{
    AGENT_LABEL, ATTACHED, MANAGER_LABEL, SCX_LAB, SKED_NAMESPACE, SYSRQ, spec, spec_on,
};
use testkit::nodes::NODES;

use crate::metrics;

#[test]
fn ready_means_attached_and_an_ejection_is_reported_with_its_reason() {
    let nodes = testkit::nodes();
    nodes.schedext("lab", &spec(&[]));
    nodes.await_condition("lab", "Ready", ATTACHED);
    both_kernels_run_it(&nodes);
    metrics_need_a_right(&nodes);

    let (before, restarted) = (nodes.scheduler_pods(), restarts(&nodes));
    nodes.node("node1").must(SYSRQ).unwrap();
    let problem = nodes.await_problem("lab", "SysRq");
    assert_eq!(problem["node"], "node1", "{problem}");
    nodes.await_condition("lab", "Ready", ATTACHED);
    let ejections = r#"sked_ejections_total{namespace="default",schedext="lab"} 1"#;
    let manager = read_manager_metrics(&nodes);
    assert!(manager.contains(ejections), "{manager}");
    let after = nodes.scheduler_pods();
    assert_eq!(after[0].uid, before[0].uid, "no pod was replaced");
    assert_eq!(after[1], before[1], "node2's scheduler was left alone");
    assert_eq!(restarts(&nodes), restarted, "sked itself was restarted");
    killing_sked_changes_nothing(&nodes);

    nodes.kubectl(&["delete", "schedext", "lab"]);
    for node in NODES {
        nodes.await_kernel_state(node, "disabled");
    }
}

fn both_kernels_run_it(nodes: &SharedNodes) {
    let status = nodes.status_of("lab");
    assert_eq!(status["counts"]["attached"], 2, "{status}");
    assert_eq!(status["ops"], "lab_1.1.0", "{status}");
    nodes.kubectl(&["rollout", "status", "daemonset/lab", "--timeout=400s"]);
    for node in NODES {
        assert_eq!(nodes.kernel_state(node), "enabled");
        assert_eq!(nodes.ops(node).as_deref(), Some("lab_1.1.0"));
        let report = nodes.read(&["sxn", node]);
        assert_eq!(report["status"]["state"], "enabled", "{report}");
    }
    println!("{}", nodes.kubectl(&["get", "sx,sxn", "-o", "wide"]));
    let logs = nodes.kubectl(&["logs", "daemonset/lab"]);
    assert!(!logs.trim().is_empty(), "the scheduler printed nothing");
    let manager = ["-n", SKED_NAMESPACE, "-l", MANAGER_LABEL];
    let logs = nodes.kubectl(&[&["logs", "--tail=-1"], &manager[..]].concat());
    assert!(!logs.contains("orbidden"), "{logs}");
}

/// The manager's metrics are for accounts that may read them; the agent's are the kernel's state.
fn metrics_need_a_right(nodes: &SharedNodes) {
    let refused = metrics::of_manager(nodes, "default");
    assert!(refused.contains("orbidden"), "{refused}");
    let manager = read_manager_metrics(nodes);
    for line in [
        "leader_election_master_status{",
        r#"sked_schedext_nodes{namespace="default",schedext="lab",state="attached"} 2"#,
        r#"sked_ejections_total{namespace="default",schedext="lab"} 0"#,
    ] {
        assert!(manager.contains(line), "{line} is not in\n{manager}");
    }
    let agent = metrics::of_agent(nodes, "node1");
    for line in [
        r#"sked_node_state{state="enabled"} 1"#,
        r#"sked_node_ops{ops="lab_1.1.0"} 1"#,
        "sked_node_report_current 1",
    ] {
        assert!(agent.contains(line), "{line} is not in\n{agent}");
    }
}

fn read_manager_metrics(nodes: &SharedNodes) -> String {
    nodes.kubectl(&["create", "serviceaccount", "prometheus"]);
    nodes.kubectl(&[
        "create",
        "clusterrolebinding",
        "e2e-metrics",
        "--clusterrole=sked-metrics-reader",
        "--serviceaccount=default:prometheus",
    ]);
    let text = metrics::of_manager(nodes, "prometheus");
    nodes.kubectl(&["delete", "clusterrolebinding", "e2e-metrics"]);
    nodes.kubectl(&["delete", "serviceaccount", "prometheus"]);
    text
}

/// Neither the manager nor an agent that is killed makes anything unready or restarts a scheduler.
fn killing_sked_changes_nothing(nodes: &SharedNodes) {
    let before = nodes.scheduler_pods();
    let restarted = restarts(nodes);
    for node in NODES {
        // The manager is on one of them.
        nodes.node(node).must("pkill -KILL -x sked").unwrap();
    }
    nodes.until("all three are restarted", || {
        (restarts(nodes) == restarted + 3).then_some(())
    });
    nodes.await_sked();
    nodes.await_condition("lab", "Ready", ATTACHED);
    assert_eq!(nodes.scheduler_pods(), before, "a scheduler was restarted");
    let daemonset = nodes.read(&["daemonset", "lab"]);
    assert_eq!(daemonset["status"]["numberReady"], 2, "{daemonset}");
}

/// How often the containers of sked were restarted.
fn restarts(nodes: &SharedNodes) -> i64 {
    let pods = [MANAGER_LABEL, AGENT_LABEL]
        .map(|label| nodes.list(&["pods", "-n", SKED_NAMESPACE, "-l", label]));
    let count = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_i64();
    pods.iter().flatten().filter_map(count).sum()
}

/// A scheduler that somebody starts with schedctl keeps its node, is named, and the node comes
/// back when it ends.
#[test]
fn a_foreign_scheduler_keeps_its_node() {
    let nodes = testkit::nodes();
    let node = nodes.node("node2");
    let run = format!("schedctl run --allow-unsigned {SCX_LAB} -- --name stranger");
    node.must(&run).unwrap();
    nodes.until("the report names the foreign scheduler", || {
        let report = nodes.read(&["sxn", "node2"]);
        let ops = report["status"]["ops"].as_str()?;
        ops.starts_with("stranger").then_some(())
    });
    nodes.schedext("lab", &spec(&[]));
    nodes.await_condition("lab", "Conflicted", "True/ForeignScheduler");
    nodes.await_condition("lab", "Ready", ATTACHED);
    let status = nodes.status_of("lab");
    let problem = &status["problems"][0];
    assert_eq!(problem["node"], "node2", "{status}");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("stranger"), "{message}");
    let counts = &status["counts"];
    assert_eq!([&counts["desired"], &counts["foreign"]], [1, 1]);
    let pods = nodes.scheduler_pods();
    assert_eq!(pods.len(), 1, "no pod of ours goes there: {pods:?}");
    assert_eq!(owner(&nodes, "node2"), "foreign");

    node.must("schedctl stop scx_lab").unwrap();
    nodes.await_condition("lab", "Conflicted", "False/NoConflict");
    nodes.await_attached("lab", 2);
}

/// Of two SchedExts that want a node the higher priority has it, then the older one; the other one
/// reports whose it is, and nothing of it runs there.
#[test]
fn the_higher_priority_takes_a_node_over() {
    let nodes = testkit::nodes();
    nodes.schedext("lab", &spec(&[]));
    nodes.await_condition("lab", "Ready", ATTACHED);
    let before = nodes.scheduler_pods();
    nodes.schedext("late", &spec(&["--name", "late"]));
    nodes.await_condition("late", "Conflicted", "True/OwnedByOther");
    assert_eq!(nodes.scheduler_pods(), before, "the older one keeps both");
    nodes.kubectl(&["delete", "schedext", "late"]);

    let mut urgent = spec_on("node2", &["--name", "urgent"]);
    urgent["priority"] = json!(10);
    nodes.schedext("urgent", &urgent);
    nodes.await_attached("urgent", 1);
    nodes.await_condition("lab", "Conflicted", "True/OwnedByOther");
    nodes.await_attached("lab", 1);
    assert_eq!(nodes.ops("node2").as_deref(), Some("urgent"));
    assert_eq!(nodes.scheduler_pods()[0], before[0], "node1 is left alone");
    let label = owner(&nodes, "node2");
    assert!(label.is_string(), "{label}");
}

/// Who has a contested node, as its label has it.
fn owner(nodes: &SharedNodes, node: &str) -> Value {
    let label = "/metadata/labels/sked.schedkit.io~1owner";
    nodes.field("default", &format!("node/{node}"), label)
}

/// A version that starts and does not attach: the first node shows it, the second one keeps what
/// it has.
#[test]
fn a_roll_out_stops_at_a_version_that_does_not_attach() {
    let nodes = testkit::nodes();
    nodes.schedext("lab", &spec(&[]));
    nodes.await_condition("lab", "Ready", ATTACHED);
    let before = nodes.scheduler_pods();
    nodes.schedext("lab", &spec(&["--fault", "slow-attach", "--after", "1h"]));
    nodes.until("one pod is new", || {
        let now = nodes.scheduler_pods();
        let new = now.iter().filter(|pod| !before.contains(pod)).count();
        (now.len() == NODES.len() && new == 1).then_some(())
    });
    let wait = ["rollout", "status", "daemonset/lab", "--timeout=10s"];
    assert!(!nodes.try_kubectl(&wait), "it was rolled out unattached");
    let now = nodes.scheduler_pods();
    let kept = now.iter().filter(|pod| before.contains(pod)).count();
    assert_eq!(kept, 1, "the other node keeps its scheduler: {now:?}");
}
