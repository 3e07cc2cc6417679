//! What the nodes' kernels report reaches the cluster, whatever happens: agents that are replaced,
//! nodes that are made anew or rebooted, an API server that is away, and every way in which a
//! scheduler can end. On two nodes with kernels of their own, with sked deployed as an administrator
//! does it. One test, because each step begins and ends with a scheduler attached on both nodes.
//!
//! How soon it does is measured in `benches/kernel`; `cluster` has the short edition.

#![cfg(test)]

use std::time::Duration;

use lab::{LabSpec, Scheduler, StopSignal, Topology};
use serde_json::{Value, json};
use testkit::node_cluster::{
    AGENT_LABEL, ATTACHED, SCX_LAB, SKED_NAMESPACE, SYSRQ, SchedulerPod, spec,
};
use testkit::nodes::NODES;
use testkit::{NodeCluster, program};

#[test]
fn what_the_kernels_report_reaches_the_cluster() {
    let order = LabSpec {
        nodes: 2,
        schedulers: vec![
            Scheduler::ScxLab,
            Scheduler::ScxBpfland,
            Scheduler::ScxLavd,
            Scheduler::ScxRusty,
        ],
        ..LabSpec::new("long-kernel-truth", Topology::Cluster, &program::labs())
    };
    let cluster = NodeCluster::boot(order, &program::sked());
    cluster.install_schedctl("node2");
    cluster.deploy();
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_condition("lab", "Ready", ATTACHED);
    cluster.kubectl(&["rollout", "status", "daemonset/lab", "--timeout=60s"]);
    println!("{}", cluster.kubectl(&["get", "sx,sxn", "-o", "wide"]));

    the_later_schedext_never_starts(&cluster);
    a_foreign_scheduler_keeps_its_node(&cluster);
    another_name_on_one_node_disturbs_no_other(&cluster);
    a_kubelet_is_slow_to_report(&cluster);
    a_node_is_not_ready_for_a_while(&cluster);
    agents_are_killed_and_replaced(&cluster);
    a_node_is_made_anew(&cluster);
    a_node_is_rebooted(&cluster);
    the_api_server_is_away(&cluster);
    a_roll_out_stops_at_a_version_that_does_not_attach(&cluster);
    every_end_has_its_reason(&cluster);
    other_schedulers_attach(&cluster);
}

/// Two SchedExts on one node: the later one is conflicted, and nothing of it ever runs.
fn the_later_schedext_never_starts(cluster: &NodeCluster) {
    let before = cluster.scheduler_pods();
    cluster.apply_schedext("late", &spec(&["--name", "late"]));
    cluster.await_condition("late", "Conflicted", "True/OwnedByOther");
    cluster.kubectl(&["delete", "schedext", "late"]);
    cluster.await_condition("lab", "Ready", ATTACHED);
    let after = cluster.scheduler_pods();
    assert_eq!(after, before, "a scheduler was started or restarted");
}

/// One that somebody starts with schedctl keeps its node and is named, and the node comes back
/// when it ends.
fn a_foreign_scheduler_keeps_its_node(cluster: &NodeCluster) {
    cluster.kubectl(&["delete", "schedext", "lab"]);
    cluster.await_kernel_state("node2", "disabled");
    let node = cluster.node("node2");
    let run = format!("schedctl run --allow-unsigned {SCX_LAB} -- --name stranger");
    node.must(&run).unwrap();
    cluster.until("the report names the foreign scheduler", || {
        let report = cluster.read(&["sxn", "node2"]);
        let ops = report["status"]["ops"].as_str()?;
        ops.starts_with("stranger").then_some(())
    });
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_condition("lab", "Conflicted", "True/ForeignScheduler");
    cluster.await_condition("lab", "Ready", ATTACHED);
    let status = cluster.status_of("lab");
    let problem = &status["problems"][0];
    assert_eq!(problem["node"], "node2", "{status}");
    assert!(
        problem["message"].as_str().unwrap().contains("stranger"),
        "{problem}"
    );
    assert_eq!(
        (&status["counts"]["desired"], &status["counts"]["foreign"]),
        (&json!(1), &json!(1))
    );
    let pods = cluster.scheduler_pods();
    assert_eq!(pods.len(), 1, "no pod of ours goes there: {pods:?}");
    node.must("schedctl stop scx_lab").unwrap();
    cluster.await_condition("lab", "Conflicted", "False/NoConflict");
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// A foreign scheduler attaches after our container was started, on the node that is rolled first,
/// and is taken for ours. schedctl would refuse to start one there.
fn another_name_on_one_node_disturbs_no_other(cluster: &NodeCluster) {
    cluster.apply_schedext("lab", &spec(&["--fault", "slow-attach", "--after", "60s"]));
    let new_process = |node: &str| {
        // The brackets keep the shell that runs it from finding itself.
        let found = cluster.node(node).shell("pgrep -f 'slow-attac[h]'");
        let found = found.unwrap().stdout;
        found.lines().next().map(str::to_owned)
    };
    let (wrong, process) = cluster.until("a node has the new pod's scheduler", || {
        let mut nodes = NODES.into_iter();
        nodes.find_map(|node| Some((node, new_process(node)?)))
    });
    let run = format!("setsid /proc/{process}/exe --name stranger >/dev/null 2>&1 & echo started");
    cluster.node(wrong).must(&run).unwrap();
    cluster.until("its kernel runs the foreign one", || {
        (cluster.ops(wrong)?.starts_with("stranger")).then_some(())
    });
    let right = NODES.into_iter().find(|node| *node != wrong).unwrap();
    let of_right = || {
        let pods = cluster.scheduler_pods().into_iter();
        pods.filter(|pod| pod.node == right).collect::<Vec<_>>()
    };
    let is_ours = || cluster.ops(right).is_some_and(|ops| ops.starts_with("lab"));
    cluster.until("the other node runs ours", || {
        let new = new_process(right).is_some() && of_right().len() == 1;
        (is_ours() && new).then_some(())
    });
    let before = of_right();
    // Longer than a change of a node's eligibility is debounced.
    std::thread::sleep(Duration::from_secs(15));
    assert_eq!(of_right(), before, "its scheduler was moved");
    assert_eq!(owner(cluster, right), Value::Null);
    assert!(is_ours());
    let stop = "pkill -f 'name strange[r]'";
    cluster.node(wrong).must(stop).unwrap();
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// The kernel has our scheduler while kubelet has not reported that its container runs.
fn a_kubelet_is_slow_to_report(cluster: &NodeCluster) {
    let of_node1 = || {
        let pods = cluster.scheduler_pods().into_iter();
        pods.filter(|pod| pod.node == "node1").collect::<Vec<_>>()
    };
    let old = of_node1();
    let node = cluster.node("node1");
    // kubelet still waits for containerd to start the container when its bundle appears: what comes
    // later, kubelet may have reported before it is stopped.
    let bundles = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/config.json";
    let find = format!("grep -ls scx_lab {bundles}");
    let stop = format!(
        "old=$({find}); \
         (until {find} | grep -qvxF \"$old\"; do sleep 0.02; done; \
         pkill -STOP -x kubelet) >/dev/null 2>&1 & echo \"$old\""
    );
    let bundle = node.must(&stop).unwrap();
    assert_eq!(bundle.lines().count(), 1, "{bundle}");
    let selector = "--field-selector=spec.nodeName=node1";
    cluster.kubectl(&["delete", "pod", "-l", "name=lab", selector, "--wait=false"]);
    cluster.until("its kernel runs the new one", || {
        let stopped = node.shell("grep -q '^State:.T' /proc/$(pgrep -x kubelet)/status");
        let attached = cluster.kernel_state("node1") == "enabled";
        (stopped.unwrap().status == 0 && attached).then_some(())
    });
    let new = of_node1();
    assert!(new.len() == 1 && new[0].uid != old[0].uid, "{new:?}");
    let reported = cluster.read(&["pods", "-l", "name=lab", selector]);
    let reported = &reported["items"][0]["status"];
    let state = &reported["containerStatuses"][0]["state"];
    assert!(state["running"].is_null(), "not slow enough: {reported}");
    // Longer than a change of a node's eligibility is debounced.
    std::thread::sleep(Duration::from_secs(15));
    let meanwhile = owner(cluster, "node1");
    node.must("pkill -CONT -x kubelet").unwrap();
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
    let after = of_node1();
    assert_eq!(
        (meanwhile, after),
        (Value::Null, new),
        "it was taken for foreign, or replaced"
    );
}

/// A node whose kubelet is silent is tainted. Its owner stays, although the owner's pod, which
/// somebody deletes meanwhile, cannot be replaced: one of lower rank that tolerates the taint gets
/// neither the node nor, when kubelet is back, its kernel.
fn a_node_is_not_ready_for_a_while(cluster: &NodeCluster) {
    let mut rival = spec(&["--name", "rival"]);
    rival["tolerations"] = json!([{"operator": "Exists"}]);
    cluster.apply_schedext("rival", &rival);
    cluster.await_condition("rival", "Conflicted", "True/OwnedByOther");
    cluster.until("the nodes have labels", || {
        owner(cluster, "node1").is_string().then_some(())
    });
    let before = owner(cluster, "node1");
    let node = cluster.node("node1");
    node.must("pkill -STOP -x kubelet").unwrap();
    cluster.until("the node is tainted", || {
        let taints = cluster.field("", "node/node1", "/spec/taints").to_string();
        taints.contains("unreachable").then_some(())
    });
    // As one does with pods of a node that does not answer.
    let of_node1 = "--field-selector=spec.nodeName=node1";
    let force = ["--force", "--grace-period=0"];
    cluster.kubectl(&[&["delete", "pod", "-l", "name=lab", of_node1], &force[..]].concat());
    std::thread::sleep(Duration::from_secs(15));
    let meanwhile = owner(cluster, "node1");
    let pods = cluster.scheduler_pods();
    let pods: Vec<_> = pods.iter().map(|pod| pod.node.as_str()).collect();
    assert_eq!(cluster.ops("node1").as_deref(), Some("lab_1.1.0"));
    let attaches = || node.must("cat /sys/kernel/sched_ext/enable_seq").unwrap();
    let first = attaches();
    node.must("pkill -CONT -x kubelet").unwrap();
    cluster.until("the node is ready again", || {
        let taints = cluster.field("", "node/node1", "/spec/taints");
        taints.is_null().then_some(())
    });
    let ops = cluster.until("its kernel has attached a scheduler again", || {
        (attaches() != first).then(|| cluster.ops("node1"))?
    });
    assert_eq!(
        (meanwhile, &*pods, &*ops),
        (before.clone(), &["node2"][..], "lab_1.1.0"),
        "the owner meanwhile, the nodes with pods meanwhile, the scheduler afterwards"
    );
    cluster.until("the owner is the same", || {
        (owner(cluster, "node1") == before).then_some(())
    });
    cluster.kubectl(&["delete", "schedext", "rival"]);
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
}

fn owner(cluster: &NodeCluster, node: &str) -> Value {
    let label = "/metadata/labels/sked.schedkit.io~1owner";
    cluster.field("", &format!("node/{node}"), label)
}

/// An agent that is killed or replaced makes nothing unready and restarts nothing.
fn agents_are_killed_and_replaced(cluster: &NodeCluster) {
    let before = cluster.scheduler_pods();
    for node in NODES {
        cluster.node(node).must("pkill -KILL -x sked").unwrap();
    }
    cluster.until("the agents are back", || {
        agents_ready(cluster).then_some(())
    });
    cluster.await_condition("lab", "Ready", ATTACHED);
    let agents = "daemonset/sked-node-agent";
    cluster.kubectl(&["rollout", "restart", agents, "-n", SKED_NAMESPACE]);
    cluster.await_sked();
    cluster.await_condition("lab", "Ready", ATTACHED);
    let after = cluster.scheduler_pods();
    assert_eq!(after, before, "a scheduler was restarted");
    let daemonset = cluster.read(&["daemonset", "lab"]);
    assert_eq!(daemonset["status"]["numberReady"], 2, "{daemonset}");
}

fn agents_ready(cluster: &NodeCluster) -> bool {
    let pods = cluster.read(&["pods", "-n", SKED_NAMESPACE, "-l", AGENT_LABEL]);
    let pods = pods["items"].as_array().cloned().unwrap_or_default();
    let ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    pods.len() == NODES.len() && pods.iter().filter(ready).count() == NODES.len()
}

/// A Node of the same name is another one: its old report goes, and a new one comes.
fn a_node_is_made_anew(cluster: &NodeCluster) {
    let uid = || {
        let report = cluster.read(&["sxn", "node2"]);
        report["metadata"]["ownerReferences"][0]["uid"].clone()
    };
    let before = uid();
    cluster.kubectl(&["delete", "node", "node2"]);
    cluster.until("nothing is left of the old node", || {
        let pods = cluster.read(&["pods", "-A", "--field-selector=spec.nodeName=node2"]);
        let reported = cluster.try_kubectl(&["get", "sxn", "node2"]);
        (pods["items"].as_array()?.is_empty() && !reported).then_some(())
    });
    // kubelet registers its node when it starts, and init starts it again.
    cluster.node("node2").must("pkill -x kubelet").unwrap();
    cluster.until("a new report is there", || {
        let now = uid();
        (now.is_string() && now != before).then_some(())
    });
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// What was reported before a reboot is not believed after it.
fn a_node_is_rebooted(cluster: &NodeCluster) {
    let boot = || cluster.read(&["sxn", "node2"])["status"]["bootID"].take();
    let before = boot();
    // With what was written: containerd cannot end a pod whose network's file is empty.
    let reboot = "(sleep 1; sync; echo b > /proc/sysrq-trigger) >/dev/null 2>&1 &";
    cluster.node("node2").must(reboot).unwrap();
    cluster.until("another boot is reported", || {
        let now = boot();
        (now.is_string() && now != before).then_some(())
    });
    cluster.await_attached("lab", 2);
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// The kernel ejects a scheduler while the API server is away: it is reported when it is back.
fn the_api_server_is_away(cluster: &NodeCluster) {
    let before = cluster.scheduler_pods();
    let lab = cluster.lab();
    lab.stop_service("kube-apiserver", StopSignal::Term)
        .unwrap();
    cluster.node("node1").must(SYSRQ).unwrap();
    std::thread::sleep(Duration::from_secs(60));
    lab.start_service("kube-apiserver").unwrap();
    cluster.until("node1's scheduler was restarted", || {
        let of_node1 = |pods: &[SchedulerPod]| {
            let pod = pods.iter().find(|pod| pod.node == "node1");
            pod.map(|pod| pod.restarts)
        };
        let now = cluster.scheduler_pods();
        (of_node1(&now)? > of_node1(&before)?).then_some(())
    });
    cluster.await_condition("lab", "Ready", ATTACHED);
    let now = cluster.scheduler_pods();
    let node2 = (now.last(), before.last());
    assert_eq!(node2.0, node2.1, "node2's scheduler was left alone");
    let uids =
        |pods: &[SchedulerPod]| -> Vec<_> { pods.iter().map(|pod| pod.uid.clone()).collect() };
    assert_eq!(uids(&now), uids(&before), "no pod was replaced");
    await_heartbeats(cluster);
}

/// Kubernetes takes nodes that could not renew their leases for a minute for not ready, and their
/// pods too: a roll-out would replace such pods outside of its budget.
fn await_heartbeats(cluster: &NodeCluster) {
    let renewed = |node: &str| {
        let lease = cluster.read(&["lease", node, "-n", "kube-node-lease"]);
        lease["spec"]["renewTime"].as_str().map(str::to_owned)
    };
    let before = NODES.map(renewed);
    cluster.until("both nodes renew their leases", || {
        let now = NODES.map(renewed);
        let mut both = now.iter().zip(&before);
        both.all(|(now, before)| now != before).then_some(())
    });
    // The controller looks every five seconds.
    std::thread::sleep(Duration::from_secs(10));
    cluster.kubectl(&["wait", "node", "--all", "--for=condition=Ready"]);
    cluster.kubectl(&["rollout", "status", "daemonset/lab", "--timeout=60s"]);
}

/// A version that starts and does not attach: the first node shows it, the second keeps what it
/// has.
fn a_roll_out_stops_at_a_version_that_does_not_attach(cluster: &NodeCluster) {
    let before = cluster.scheduler_pods();
    let mut slow = spec(&["--fault", "slow-attach", "--after", "1h"]);
    slow["onFailure"] = json!({"action": "Restart", "attachDeadline": "60s"});
    cluster.apply_schedext("lab", &slow);
    cluster.until("one pod is new", || {
        let now = cluster.scheduler_pods();
        let new = now.iter().filter(|pod| !before.contains(pod)).count();
        (now.len() == NODES.len() && new == 1).then_some(())
    });
    let wait = ["rollout", "status", "daemonset/lab", "--timeout=20s"];
    assert!(!cluster.try_kubectl(&wait), "it was rolled out unattached");
    cluster.await_condition("lab", "Degraded", "True/NotAttached");
    let now = cluster.scheduler_pods();
    let kept = now.iter().filter(|pod| before.contains(pod)).count();
    assert_eq!(kept, 1, "the other node keeps its scheduler: {now:?}");
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// Each fault that scx_lab can have is reported as what it is.
fn every_end_has_its_reason(cluster: &NodeCluster) {
    // No two with one reason after each other: what is reported is of the latest fault.
    for (fault, reason) in [
        (&["verifier"][..], "LoadFailedVerifier"),
        (&["refuse"], "RuntimeError"),
        (&["scx-error"], "BpfError"),
        (&["stall", "--timeout", "2s"], "Stall"),
        (&["runtime-error"], "RuntimeError"),
        // It exits with 0, so kubelet keeps none of its output.
        (&["bpf-exit"], "SchedulerEnded"),
        (&["exit"], "Unknown"),
    ] {
        let mut faulty = spec(&[&["--fault"], fault].concat());
        // By default the nodes would go back to the version before.
        faulty["onFailure"] = json!({"action": "Restart"});
        cluster.apply_schedext("lab", &faulty);
        cluster.await_problem("lab", reason);
    }
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_condition("lab", "Ready", ATTACHED);
    cluster.node("node1").must(SYSRQ).unwrap();
    cluster.await_problem("lab", "SysRq");
    cluster.await_condition("lab", "Ready", ATTACHED);
}

/// Schedulers that others wrote.
fn other_schedulers_attach(cluster: &NodeCluster) {
    for scheduler in ["bpfland", "rusty", "lavd"] {
        let sched = format!("registry.lab:5000/scx_{scheduler}:latest");
        // scx_lavd takes minutes on an emulated processor that is shared.
        let patient = json!({"attachDeadline": "900s"});
        let spec = json!({"sched": sched, "args": [], "onFailure": patient});
        cluster.apply_schedext("lab", &spec);
        cluster.until(&format!("both kernels run {scheduler}"), || {
            let runs = |node| {
                cluster
                    .ops(node)
                    .is_some_and(|ops| ops.starts_with(scheduler))
            };
            NODES.into_iter().all(runs).then_some(())
        });
        cluster.await_condition("lab", "Ready", ATTACHED);
    }
}
