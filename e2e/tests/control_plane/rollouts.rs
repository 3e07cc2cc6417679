//! Roll-outs with a real API server and DaemonSet controller. The test writes what kernels and
//! kubelets would report; what real kernels do is tested on real nodes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kernel_reports::{Fixture, NAMESPACE, enabled};

const NODES: [&str; 2] = ["one", "two"];

#[test]
fn a_canary_that_is_ejected_is_rolled_back_and_the_second_node_keeps_its_pod() {
    let fixture = Fixture::up();
    fixture.agents(true);
    for node in NODES {
        fixture.report(node, &json!({"state": "disabled"}));
    }
    fixture.cluster.schedext(NAMESPACE, "lab", &spec(1));

    // The first version ever: only the canary's node has a pod until it has soaked.
    fixture.until("the canary has a pod", || has_image(&fixture, "one", 1));
    assert_eq!(fixture.pod("two"), Value::Null);
    fixture.report("one", &enabled("lab_1.0"));
    fixture.until("the second node has a pod", || {
        has_image(&fixture, "two", 1)
    });
    fixture.report("two", &enabled("lab_1.0"));
    // The canary's node is handed back: its pod is of the stable DaemonSet then.
    fixture.until("the canary is handed back", || {
        (daemonset_of(&fixture, "one") == "lab").then_some(())
    });
    fixture.report("one", &enabled("lab_1.0"));
    await_phase(&fixture, "Complete");
    fixture.await_condition("lab", "Ready", "True/Attached");

    let second = fixture.pod("two")["metadata"]["uid"].clone();
    fixture.report("one", &enabled("lab_1.0"));
    fixture.cluster.schedext(NAMESPACE, "lab", &spec(2));
    fixture.until("the canary runs the second version", || {
        has_image(&fixture, "one", 2)
    });
    assert_eq!(daemonset_of(&fixture, "one"), "lab-canary");
    fixture.report("one", &enabled("lab_2.0"));
    fixture.await_gate("one", "True/Attached");
    fixture.report("one", &json!({"state": "disabled"}));
    eject(&fixture, "one");

    await_phase(&fixture, "RolledBack");
    fixture.until("the first version is back", || {
        has_image(&fixture, "one", 1)
    });
    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_gate("one", "True/Attached");
    fixture.await_condition("lab", "Ready", "False/RolledBack");
    let status = fixture.cluster.field(NAMESPACE, "schedext/lab", "/status");
    let rejected = &status["rejected"];
    assert_eq!(
        (&rejected["reason"], &rejected["node"]),
        (&json!("Stall"), &json!("one"))
    );
    assert_eq!(fixture.pod("two")["metadata"]["uid"], second, "{status}");
    fixture.until("its label and its DaemonSet are gone", || {
        let daemonset = fixture.cluster.get(NAMESPACE, "daemonset/lab-canary");
        (fixture.owner("one") == Value::Null && daemonset.is_none()).then_some(())
    });
    let events = fixture
        .cluster
        .kubectl(&["get", "events", "-n", NAMESPACE, "-o", "json"]);
    for reason in [
        "RolloutCanary",
        "RolloutRolling",
        "RolloutComplete",
        "CanaryNodesChosen",
        "CanaryNodesReturned",
        "RolledBack",
    ] {
        assert!(
            events.contains(&format!("\"reason\": \"{reason}\"")),
            "{reason}: {events}"
        );
    }

    // Not tried again until somebody asks for it.
    std::thread::sleep(Duration::from_secs(5));
    assert!(has_image(&fixture, "one", 1).is_some());
    let annotation = "sked.schedkit.io/request=retry";
    let annotate = ["annotate", "-n", NAMESPACE, "schedext/lab", annotation];
    fixture.cluster.kubectl(&annotate);
    fixture.until("it is tried again", || has_image(&fixture, "one", 2));
    assert_eq!(fixture.pod("two")["metadata"]["uid"], second);
    let log = fixture.manager.log();
    assert!(
        !log.contains("panicked") && !log.contains("break the rules"),
        "{log}"
    );
}

fn spec(version: u32) -> Value {
    json!({
        "sched": image(version),
        "rollout": {"soak": "3s", "canary": {"nodes": 1}},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "is", "operator": "In", "values": NODES}]}],
        }}},
    })
}

fn image(version: u32) -> String {
    format!("registry.example/scx_lab:{version}")
}

fn has_image(fixture: &Fixture, node: &str, version: u32) -> Option<()> {
    let pod = fixture.pod(node);
    let runs =
        pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null();
    (runs && pod["spec"]["containers"][0]["image"] == image(version)).then_some(())
}

/// The DaemonSet of the node's pod.
pub(crate) fn daemonset_of(fixture: &Fixture, node: &str) -> Value {
    fixture.pod(node)["metadata"]["ownerReferences"][0]["name"].clone()
}

fn await_phase(fixture: &Fixture, phase: &str) {
    fixture.until(&format!("the phase is {phase}"), || {
        let path = "/status/rollout/phase";
        (fixture.cluster.field(NAMESPACE, "schedext/lab", path) == phase).then_some(())
    });
}

/// What kubelet reports when the kernel has ejected the scheduler and its process has ended.
pub(crate) fn eject(fixture: &Fixture, node: &str) {
    let pod = fixture.pod(node);
    let now = jiff::Timestamp::now();
    let ended = json!({
        "exitCode": 1, "reason": "Error", "startedAt": format!("{now:.0}"), "finishedAt": format!("{now:.0}"),
        "message": "EXIT: runnable task stall (watchdog failed to check in for 5.0s)",
    });
    let mut container = pod["status"]["containerStatuses"][0].clone();
    container["ready"] = json!(false);
    container["restartCount"] = json!(1);
    container["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    container["lastState"] = json!({"terminated": ended});
    let patch = json!({"status": {"containerStatuses": [container]}}).to_string();
    let name = pod["metadata"]["name"].as_str().unwrap();
    let args = [
        "patch",
        "pod",
        "-n",
        NAMESPACE,
        name,
        "--subresource=status",
        "-p",
        &patch,
    ];
    fixture.cluster.kubectl(&args);
}
