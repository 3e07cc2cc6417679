//! What the nodes' kernels say reaches the cluster, whatever happens: on two nodes with kernels of
//! their own, with sked deployed as an administrator does it. One story, because two nodes take a
//! minute to boot; each step begins and ends with a scheduler attached on both.
//!
//! How soon it does is measured in `benches/kernel`.

#![cfg(test)]

mod ground;
#[path = "../site.rs"]
mod site;

use std::time::Duration;

use ground::NODES;
use lab::StopSignal;
use lab::spec::DEFAULT_KERNEL;
use lab::static_program::{self, Profile};
use serde_json::{Value, json};
use site::{IMAGE, Site};

const ATTACHED: &str = "True/Attached";

#[test]
fn what_the_kernels_say_reaches_the_cluster() {
    let sked = static_program::build("sked", Profile::Debug).unwrap();
    let site = Site::up("test-kernel-truth", DEFAULT_KERNEL, 2, &sked);
    site.deploy();

    site.schedext("lab", &spec(&[]));
    site.await_condition("lab", "Ready", ATTACHED);
    site.kubectl(&["rollout", "status", "daemonset/lab", "--timeout=60s"]);
    println!("{}", site.kubectl(&["get", "sx,sxn", "-o", "wide"]));

    who_loses_never_starts(&site);
    a_foreign_scheduler_holds_its_node(&site);
    agents_come_and_go(&site);
    a_node_is_made_anew(&site);
    a_node_is_started_again(&site);
    the_api_server_is_away(&site);
    a_roll_out_stops_at_what_does_not_attach(&site);
    every_end_has_its_kind(&site);
}

fn spec(args: &[&str]) -> Value {
    json!({"sched": IMAGE, "args": args})
}

/// Two SchedExts on one node: the later one is told, and nothing of it ever runs.
fn who_loses_never_starts(site: &Site) {
    let before = site.schedulers();
    site.schedext("late", &spec(&["--name", "late"]));
    site.await_condition("late", "Conflicted", "True/OwnedByOther");
    site.kubectl(&["delete", "schedext", "late"]);
    site.await_condition("lab", "Ready", ATTACHED);
    assert_eq!(
        site.schedulers(),
        before,
        "nothing was started or restarted"
    );
}

/// One that somebody starts with schedctl holds its node, is named, and gives it back.
fn a_foreign_scheduler_holds_its_node(site: &Site) {
    site.kubectl(&["delete", "schedext", "lab"]);
    let node = site.node("node2");
    site.until("node2's kernel runs nothing", || {
        let state = node.must("cat /sys/kernel/sched_ext/state").unwrap();
        (state == "disabled").then_some(())
    });
    site.bring_schedctl(&node);
    node.must(&format!(
        "schedctl run --allow-unsigned {IMAGE} -- --name stranger"
    ))
    .unwrap();
    site.until("the report names the stranger", || {
        let ops = site.get(&["sxn", "node2"])["status"]["ops"].clone();
        ops.as_str()?.starts_with("stranger").then_some(())
    });
    site.schedext("lab", &spec(&[]));
    site.await_condition("lab", "Conflicted", "True/ForeignScheduler");
    site.await_condition("lab", "Ready", ATTACHED);
    let status = site.get(&["schedext", "lab"])["status"].clone();
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
    assert_eq!(site.schedulers().len(), 1, "nothing of ours came there");
    node.must("schedctl stop scx_lab").unwrap();
    site.await_condition("lab", "Conflicted", "False/NoConflict");
    site.until("both nodes are attached", || {
        (site.get(&["schedext", "lab"])["status"]["counts"]["attached"] == 2).then_some(())
    });
    site.await_condition("lab", "Ready", ATTACHED);
}

/// An agent that is killed or replaced makes nothing unready and restarts nothing.
fn agents_come_and_go(site: &Site) {
    let before = site.schedulers();
    for node in NODES {
        site.node(node).must("pkill -KILL -x sked").unwrap();
    }
    site.until("the agents are back", || site.agents_ready().then_some(()));
    site.await_condition("lab", "Ready", ATTACHED);
    let agents = "daemonset/sked-node-agent";
    site.kubectl(&["rollout", "restart", agents, "-n", "sked-system"]);
    let status = [
        "rollout",
        "status",
        agents,
        "-n",
        "sked-system",
        "--timeout=200s",
    ];
    site.kubectl(&status);
    site.await_condition("lab", "Ready", ATTACHED);
    assert_eq!(site.schedulers(), before, "no scheduler was restarted");
    let daemonset = site.get(&["daemonset", "lab"]);
    assert_eq!(daemonset["status"]["numberReady"], 2, "{daemonset}");
}

/// A Node of the same name is another one: its old report goes, and a new one comes.
fn a_node_is_made_anew(site: &Site) {
    let uid =
        |site: &Site| site.get(&["sxn", "node2"])["metadata"]["ownerReferences"][0]["uid"].clone();
    let before = uid(site);
    site.kubectl(&["delete", "node", "node2"]);
    site.until("nothing is left of the old node", || {
        let pods = site.get(&["pods", "-A", "--field-selector=spec.nodeName=node2"]);
        let gone = pods["items"].as_array()?.is_empty() && !site.tried(&["get", "sxn", "node2"]);
        gone.then_some(())
    });
    // It makes itself known when it starts, and init starts it again.
    site.node("node2").must("pkill -x kubelet").unwrap();
    site.until("a new report is there", || {
        let now = uid(site);
        (now.is_string() && now != before).then_some(())
    });
    site.until("both nodes are attached", || {
        let status = site.get(&["schedext", "lab"])["status"].clone();
        (status["counts"]["attached"] == 2 && status["counts"]["desired"] == 2).then_some(())
    });
    site.await_condition("lab", "Ready", ATTACHED);
}

/// What was true before the start is not taken for true after it.
fn a_node_is_started_again(site: &Site) {
    let boot = |site: &Site| site.get(&["sxn", "node2"])["status"]["bootID"].clone();
    let before = boot(site);
    site.node("node2")
        .must("(sleep 1; echo b > /proc/sysrq-trigger) >/dev/null 2>&1 &")
        .unwrap();
    site.until("another start is reported", || {
        let now = boot(site);
        (now.is_string() && now != before).then_some(())
    });
    site.until("both nodes are attached", || {
        (site.get(&["schedext", "lab"])["status"]["counts"]["attached"] == 2).then_some(())
    });
    site.await_condition("lab", "Ready", ATTACHED);
}

/// The kernel throws a scheduler out while nobody can be told: all are, when they can be.
fn the_api_server_is_away(site: &Site) {
    let before = site.schedulers();
    site.lab
        .stop_service("kube-apiserver", StopSignal::Term)
        .unwrap();
    site.node("node1")
        .must("echo S > /proc/sysrq-trigger")
        .unwrap();
    std::thread::sleep(Duration::from_secs(60));
    site.lab.start_service("kube-apiserver").unwrap();
    site.until("node1's scheduler was started again", || {
        let now = site.schedulers();
        let restarted = |node: &str| {
            let of = |all: &[(String, String, i64)]| all.iter().find(|one| one.0 == node).cloned();
            of(&now)?.2.checked_sub(of(&before)?.2)
        };
        (restarted("node1")? > 0).then_some(())
    });
    site.await_condition("lab", "Ready", ATTACHED);
    let now = site.schedulers();
    assert_eq!(
        now.last(),
        before.last(),
        "node2's scheduler was left alone"
    );
    let uids =
        |all: &[(String, String, i64)]| -> Vec<_> { all.iter().map(|one| one.1.clone()).collect() };
    assert_eq!(uids(&now), uids(&before), "no pod was replaced");
}

/// An image that starts and does not attach: the first node shows it, the second keeps what it has.
fn a_roll_out_stops_at_what_does_not_attach(site: &Site) {
    let before = site.schedulers();
    site.schedext("lab", &spec(&["--fault", "slow-attach", "--after", "1h"]));
    site.until("one pod is new", || {
        let now = site.schedulers();
        let new = now.iter().filter(|one| !before.contains(one)).count();
        (now.len() == NODES.len() && new == 1).then_some(())
    });
    let wait = ["rollout", "status", "daemonset/lab", "--timeout=20s"];
    assert!(
        !site.tried(&wait),
        "it does not attach, so it is not rolled out"
    );
    site.await_condition("lab", "Degraded", "True/NotAttached");
    let now = site.schedulers();
    let kept = now.iter().filter(|one| before.contains(one)).count();
    assert_eq!(kept, 1, "the other node keeps its scheduler: {now:?}");
    site.schedext("lab", &spec(&[]));
    site.await_condition("lab", "Ready", ATTACHED);
}

/// Each way to fail that the scheduler can be told is shown as what it is.
fn every_end_has_its_kind(site: &Site) {
    // No two of one kind after each other: what is told is of the one that was asked for.
    for (fault, kind) in [
        (&["verifier"][..], "LoadFailedVerifier"),
        (&["refuse"], "RuntimeError"),
        (&["scx-error"], "BpfError"),
        (&["stall", "--timeout", "2s"], "Stall"),
        (&["runtime-error"], "RuntimeError"),
        // It ends well, so kubelet keeps none of its words.
        (&["bpf-exit"], "SchedulerEnded"),
        (&["exit"], "Unknown"),
    ] {
        site.schedext("lab", &spec(&[&["--fault"], fault].concat()));
        await_problem(site, kind);
    }
    site.schedext("lab", &spec(&[]));
    site.await_condition("lab", "Ready", ATTACHED);
    let node = site.node("node1");
    node.must("echo S > /proc/sysrq-trigger").unwrap();
    await_problem(site, "SysRq");
    site.await_condition("lab", "Ready", ATTACHED);
}

fn await_problem(site: &Site, kind: &str) {
    site.until(&format!("a node's problem is {kind}"), || {
        let status = site.get(&["schedext", "lab"])["status"].clone();
        let mut problems = status["problems"].as_array()?.iter();
        problems.any(|one| one["reason"] == kind).then_some(())
    });
}
