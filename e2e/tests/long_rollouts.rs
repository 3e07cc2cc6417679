//! Roll-outs on two nodes with kernels of their own: a version that stalls 20 seconds after it was
//! attached goes back by itself, with a canary and without one, also when the manager is killed at
//! each step, and the second node's kernel never attaches it. Prints when what happened.

#![cfg(test)]

use std::process::Command;

use lab::{LabSpec, Topology};
use serde_json::{Value, json};
use testkit::node_cluster::{ATTACHED, MANAGER_LABEL, NAMESPACE, SKED_NAMESPACE, spec};
use testkit::nodes::NODES;
use testkit::{NodeCluster, program};

#[test]
fn a_version_that_stalls_reaches_as_many_nodes_as_it_may_and_goes_back() {
    let order = LabSpec {
        nodes: 2,
        processors: 1,
        ..LabSpec::new("long-rollouts", Topology::Cluster, &program::labs())
    };
    let cluster = NodeCluster::boot(order, &program::sked());
    cluster.deploy();
    cluster.apply_schedext("lab", &good(&canary()));
    await_phase(&cluster, "Complete");
    cluster.await_condition("lab", "Ready", ATTACHED);

    with_a_canary(&cluster);
    with_a_manager_that_is_killed(&cluster);
    without_a_canary(&cluster);
    the_spec_changes_in_the_middle_of_going_back(&cluster);
    aborted_in_the_middle(&cluster);
    paused_and_resumed(&cluster);
    undone(&cluster);
    detached_nodes_run_the_kernels_own(&cluster);
    a_bad_first_version_leaves_nothing(&cluster);
}

/// The first node runs the new version, the kernel ejects it, and the first version is back; the
/// second node's kernel has attached nothing meanwhile.
fn with_a_canary(cluster: &NodeCluster) {
    let [first, second] = NODES;
    let before = attaches(cluster, second);
    cluster.apply_schedext("lab", &stalling(&canary(), "Rollback"));
    await_phase(cluster, "Canary");
    cluster.until("the canary's kernel runs it", || {
        (attached_args(cluster, first)? == STALLS).then_some(())
    });
    await_phase(cluster, "RolledBack");
    cluster.until("the first version is attached again", || {
        (is_good(cluster, first) && is_good(cluster, second)).then_some(())
    });
    assert_eq!(
        attaches(cluster, second),
        before,
        "the second kernel's own counter"
    );
    let status = cluster.status_of("lab");
    let rejected = &status["rejected"];
    assert_eq!(
        (&rejected["reason"], &rejected["node"]),
        (&json!("Stall"), &json!(first))
    );
    println!("with a canary, {first} since {}", since(cluster, first));
    print_events(cluster);
}

/// When the canary has begun, when the kernel has ejected the version, and when the decision to go
/// back is recorded: the end is the same.
fn with_a_manager_that_is_killed(cluster: &NodeCluster) {
    let [first, second] = NODES;
    let before = attaches(cluster, second);
    request(cluster, "retry#kills");
    await_phase(cluster, "Canary");
    kill_manager(cluster);
    cluster.until("the canary's kernel runs it", || {
        (attached_args(cluster, first)? == STALLS).then_some(())
    });
    cluster.until("the kernel ejects it", || {
        (attached_args(cluster, first).as_deref() != Some(STALLS)).then_some(())
    });
    kill_manager(cluster);
    await_phase(cluster, "RolledBack");
    kill_manager(cluster);
    cluster.until("the first version is attached again", || {
        (is_good(cluster, first) && is_good(cluster, second)).then_some(())
    });
    assert_eq!(attaches(cluster, second), before);
    assert_eq!(cluster.status_of("lab")["rejected"]["reason"], "Stall");
    cluster.await_condition("lab", "Ready", "False/RolledBack");
}

/// With SIGKILL: it cannot give up its lease, so that the next one waits for the lease's end.
fn kill_manager(cluster: &NodeCluster) {
    cluster.await_sked();
    let restarts = || {
        let pods = cluster.list(&["pods", "-n", SKED_NAMESPACE, "-l", MANAGER_LABEL]);
        pods[0]["status"]["containerStatuses"][0]["restartCount"].as_i64()
    };
    let before = restarts();
    let [(_, node)] = &cluster.sked_pods(MANAGER_LABEL)[..] else {
        panic!("one manager");
    };
    // The brackets keep the pattern from matching the shell that looks for it.
    let kill = cluster
        .node(node)
        .shell("pkill -KILL -f '^/[s]ked manager'");
    assert!(kill.is_ok(), "{kill:?}");
    cluster.until("kubelet has started it again", || {
        (restarts()? > before?).then_some(())
    });
}

fn without_a_canary(cluster: &NodeCluster) {
    cluster.apply_schedext("lab", &good(&plain()));
    await_phase(cluster, "Complete");
    let before = NODES.map(|node| attaches(cluster, node));
    cluster.apply_schedext("lab", &stalling(&plain(), "Rollback"));
    await_phase(cluster, "RolledBack");
    cluster.until("both have the first version", || {
        NODES
            .iter()
            .all(|node| is_good(cluster, node))
            .then_some(())
    });
    let after = NODES.map(|node| attaches(cluster, node));
    let untouched = (0..NODES.len()).filter(|at| before[*at] == after[*at]);
    assert_eq!(untouched.count(), 1, "{before:?} {after:?}");
}

fn the_spec_changes_in_the_middle_of_going_back(cluster: &NodeCluster) {
    cluster.apply_schedext("lab", &stalling(&canary(), "Rollback"));
    // Asked for again: it was rejected before.
    request(cluster, "retry#1");
    await_phase(cluster, "Canary");
    await_phase(cluster, "RolledBack");
    let mut third = good(&plain());
    third["args"] = json!(["--name", "third"]);
    cluster.apply_schedext("lab", &third);
    await_phase(cluster, "Complete");
    for node in NODES {
        assert!(cluster.ops(node).unwrap().starts_with("third"), "{node}");
    }
}

fn aborted_in_the_middle(cluster: &NodeCluster) {
    cluster.apply_schedext("lab", &good(&canary()));
    await_phase(cluster, "Canary");
    cluster.until("the canary runs it", || {
        is_good(cluster, NODES[0]).then_some(())
    });
    request(cluster, "abort#1");
    await_phase(cluster, "RolledBack");
    cluster.until("both have the third version", || {
        let third = |node: &&str| {
            cluster
                .ops(node)
                .is_some_and(|ops| ops.starts_with("third"))
        };
        NODES.iter().all(third).then_some(())
    });
    request(cluster, "retry#2");
    await_phase(cluster, "Complete");
}

fn paused_and_resumed(cluster: &NodeCluster) {
    let mut paused = good(&canary());
    paused["args"] = json!(["--name", "fourth"]);
    paused["rollout"]["paused"] = json!(true);
    cluster.apply_schedext("lab", &paused);
    cluster.await_condition("lab", "Progressing", "True/RolloutPaused");
    assert!(NODES.iter().all(|node| is_good(cluster, node)));
    paused["rollout"]["paused"] = json!(false);
    cluster.apply_schedext("lab", &paused);
    await_phase(cluster, "Complete");
    assert!(cluster.ops(NODES[1]).unwrap().starts_with("fourth"));
}

/// Back to the revision before the last one, with the plugin.
fn undone(cluster: &NodeCluster) {
    let undo = Command::new(program::kubectl_sx())
        .args(["rollout", "undo", "lab", "-n", NAMESPACE, "--kubeconfig"])
        .arg(cluster.admin_kubeconfig())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&undo.stderr);
    assert!(undo.status.success(), "{err}");
    await_phase(cluster, "Complete");
    for node in NODES {
        assert!(is_good(cluster, node), "{node}: {:?}", cluster.ops(node));
    }
}

fn detached_nodes_run_the_kernels_own(cluster: &NodeCluster) {
    cluster.apply_schedext("lab", &stalling(&canary(), "Detach"));
    cluster.await_condition("lab", "Degraded", "True/Quarantined");
    cluster.await_kernel_state(NODES[0], "disabled");
    cluster.apply_schedext("lab", &good(&plain()));
    await_phase(cluster, "Complete");
    cluster.await_condition("lab", "Ready", ATTACHED);
}

fn a_bad_first_version_leaves_nothing(cluster: &NodeCluster) {
    cluster.kubectl(&["delete", "schedext", "lab"]);
    for node in NODES {
        cluster.await_kernel_state(node, "disabled");
    }
    let before = attaches(cluster, NODES[1]);
    cluster.apply_schedext("lab", &stalling(&canary(), "Rollback"));
    await_phase(cluster, "RolledBack");
    for node in NODES {
        cluster.await_kernel_state(node, "disabled");
    }
    assert_eq!(attaches(cluster, NODES[1]), before);
}

const STALLS: &str = "stall";

fn canary() -> Value {
    json!({"soak": "60s", "canary": {"nodes": 1}})
}

fn plain() -> Value {
    json!({"soak": "60s"})
}

fn good(rollout: &Value) -> Value {
    let mut spec = spec(&[]);
    spec["watchdogTimeout"] = json!("5s");
    spec["rollout"] = rollout.clone();
    spec
}

fn stalling(rollout: &Value, action: &str) -> Value {
    let mut spec = good(rollout);
    spec["args"] = json!(["--name", STALLS, "--fault", "stall", "--after", "20s"]);
    spec["onFailure"] = json!({"action": action});
    spec
}

fn request(cluster: &NodeCluster, request: &str) {
    let annotation = format!("sked.schedkit.io/request={request}");
    cluster.kubectl(&["annotate", "schedext", "lab", "--overwrite", &annotation]);
}

fn await_phase(cluster: &NodeCluster, phase: &str) {
    cluster.until(&format!("the phase is {phase}"), || {
        let schedext = cluster.read(&["schedext", "lab"]);
        let status = &schedext["status"];
        let is_current = status["observedGeneration"] == schedext["metadata"]["generation"]
            && status["rollout"]["revision"] == status["revision"];
        (is_current && status["rollout"]["phase"] == phase).then_some(())
    });
}

/// How often the node's kernel has attached a scheduler since it booted.
fn attaches(cluster: &NodeCluster, node: &str) -> Value {
    cluster.read(&["sxn", node])["status"]["enableSeq"].clone()
}

fn since(cluster: &NodeCluster, node: &str) -> Value {
    cluster.read(&["sxn", node])["status"]["since"].clone()
}

/// The name that the attached scheduler was given.
fn attached_args(cluster: &NodeCluster, node: &str) -> Option<String> {
    let ops = cluster.ops(node)?;
    Some(ops.split('_').next().unwrap_or_default().to_owned())
}

fn is_good(cluster: &NodeCluster, node: &str) -> bool {
    cluster.ops(node).is_some_and(|ops| ops.starts_with("lab"))
}

fn print_events(cluster: &NodeCluster) {
    let columns = "custom-columns=TIME:.eventTime,REASON:.reason,MESSAGE:.message";
    let sorted = ["--sort-by=.eventTime", "-o", columns, "-n", NAMESPACE];
    let args = [
        &["get", "events", "--field-selector=involvedObject.name=lab"],
        &sorted[..],
    ];
    println!("{}", cluster.kubectl(&args.concat()));
}
