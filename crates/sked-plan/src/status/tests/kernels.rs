//! The status for each kernel state.

use super::*;
use crate::eligibility::ExclusionReason;
use crate::image_facts::ImageFacts;
use crate::kernel_state::{KernelState, UnknownReason};
use crate::live_pod::Gate;

/// Two nodes with a pod each, started at second 1000 of all time; now is long after.
fn two_nodes(kernels: [KernelState; 2]) -> Observed {
    let mut observed = settled();
    for (node, kernel) in ["node1", "node2"].into_iter().zip(kernels) {
        let mut pod = pod("one", node, PodState::Running);
        Arc::make_mut(&mut pod).started = Some(Timestamp::from_second(1000).unwrap());
        observed.pods.push(pod);
        observed.kernels.insert(node.into(), kernel);
    }
    observed
}

/// An image that asks for that kernel.
fn asks_for(min_kernel: &str) -> Arc<ImageFacts> {
    Arc::new(ImageFacts {
        min_kernel: Some(min_kernel.parse().unwrap()),
        architectures: Vec::new(),
        has_entrypoint: true,
    })
}

fn enabled(ops: &str) -> KernelState {
    KernelState::Enabled {
        ops: ops.parse().unwrap(),
        since: Timestamp::from_second(1001).unwrap(),
    }
}

#[test]
fn ready_means_that_every_kernel_runs_it() {
    let status = status_of(&two_nodes([enabled("lab"), enabled("lab")]));
    assert_eq!(values(&status)[0], "Ready=True/Attached");
    let counts = status.counts.unwrap();
    assert_eq!((counts.desired, counts.attached), (2, Some(2)));
    assert_eq!(
        (status.ops.as_deref(), status.problems.len()),
        (Some("lab"), 0)
    );
    assert_eq!(status.ops_template.as_deref(), Some("first"));

    let silent = KernelState::Unknown(UnknownReason::NoAgent);
    let status = status_of(&two_nodes([enabled("lab"), silent]));
    assert_eq!(values(&status)[0], CALM[0]);
    let counts = status.counts.unwrap();
    assert_eq!((counts.attached, counts.unknown), (Some(1), 1));
    assert!(status.conditions[0].message.contains("node2"), "{status:?}");
}

#[test]
fn a_detach_is_reported_at_once_and_its_reason_when_it_is_known() {
    let mut observed = two_nodes([enabled("lab"), KernelState::Disabled]);
    Arc::make_mut(&mut observed.pods[1]).gate = Some(Gate {
        attached: true,
        reason: "Attached".to_owned(),
        since: Timestamp::from_second(1001).unwrap(),
    });
    let status = status_of(&observed);
    assert_eq!(values(&status)[2], "Degraded=True/Detached");
    assert_eq!(values(&status)[0], "Ready=False/Detached");
    // The process exits and is restarted before the next reconcile: the reason stays.
    let pod = Arc::make_mut(&mut observed.pods[1]);
    pod.restarts = 1;
    pod.started = Some(Timestamp::from_second(2000).unwrap());
    pod.last_exit = Some(ContainerExit {
        at: Some(Timestamp::from_second(1999).unwrap()),
        ..last_exit(1, "EXIT: runnable task stall (x[1] failed to run for 5.0s)")
    });
    let status = status_of(&observed);
    assert_eq!(values(&status)[2], "Degraded=True/Ejected");
    assert_eq!(
        (&*status.problems[0].reason, &*status.problems[0].node),
        ("Stall", "node2")
    );
    assert_eq!(status.counts.unwrap().ejected, 1);
    let since = Timestamp::from_second(2001).unwrap();
    let ops = "lab".parse().unwrap();
    observed
        .kernels
        .insert("node2".into(), KernelState::Enabled { ops, since });
    assert_eq!(values(&status_of(&observed))[0], "Ready=True/Attached");
}

#[test]
fn a_killed_scheduler_that_was_restarted_is_reported_as_ended() {
    let mut observed = two_nodes([enabled("lab"), KernelState::Disabled]);
    let pod = Arc::make_mut(&mut observed.pods[1]);
    let second = |second| Timestamp::from_second(second).unwrap();
    // Detach and exit within one second, which is the resolution of the times.
    pod.gate = Some(Gate {
        attached: false,
        reason: "Detached".to_owned(),
        since: second(1999),
    });
    pod.last_exit = Some(ContainerExit {
        at: Some(second(1999)),
        ..last_exit(137, "")
    });
    pod.restarts = 1;
    pod.started = Some(second(2003));
    assert_ne!(status_of(&observed).problems[0].reason, "Detached");
    // This one was attached as well, and its process is still there.
    let pod = Arc::make_mut(&mut observed.pods[1]);
    pod.gate.as_mut().unwrap().since = second(2010);
    assert_eq!(status_of(&observed).problems[0].reason, "Detached");
}

#[test]
fn a_scheduler_that_does_not_attach_is_an_issue_after_its_deadline() {
    let mut observed = two_nodes([enabled("lab"), KernelState::Disabled]);
    observed.now = Timestamp::from_second(1179).unwrap();
    assert_eq!(
        values(&status_of(&observed))[1],
        "Progressing=True/RollingOut"
    );
    let due = due(&observed).unwrap();
    assert_eq!(due, Timestamp::from_second(1180).unwrap());
    observed.now = due;
    assert_eq!(
        values(&status_of(&observed))[2],
        "Degraded=True/NotAttached"
    );
    assert_eq!(super::due(&observed), None);
}

#[test]
fn another_name_of_the_same_template_is_foreign() {
    let mut observed = two_nodes([enabled("lab_1.0"), enabled("lab_1.1")]);
    let first = status_of(&observed);
    assert_eq!(first.ops.as_deref(), Some("lab_1.0"));
    assert_eq!(values(&first)[0], "Ready=True/Attached", "another version");
    Arc::make_mut(&mut observed.schedext).status = Some(first);
    observed.kernels.insert("node2".into(), enabled("rusty"));
    let counts = status_of(&observed).counts.unwrap();
    assert_eq!(counts.attached, Some(1));
    // Another template may be another scheduler.
    let pod = Arc::make_mut(&mut observed.pods[1]);
    pod.template = "second".to_owned();
    pod.created = Timestamp::from_second(5).unwrap();
    let status = status_of(&observed);
    assert_eq!(status.counts.unwrap().attached, Some(2));
    assert_eq!(
        (status.ops.as_deref(), status.ops_template.as_deref()),
        (Some("rusty"), None),
        "one node alone is believed and proves nothing"
    );
}

/// A foreign scheduler on the first node, or one agent's stolen token.
#[test]
fn a_wrong_name_of_one_node_is_held_against_no_other() {
    let mut observed = two_nodes([enabled("evil"), enabled("lab")]);
    let status = status_of(&observed);
    assert_eq!(status.counts.unwrap().attached, Some(2));
    assert_eq!(status.ops_template, None, "they disagree");

    let mut third = pod("one", "node3", PodState::Running);
    Arc::make_mut(&mut third).started = Some(Timestamp::from_second(1000).unwrap());
    observed.pods.push(third);
    observed.kernels.insert("node3".into(), enabled("lab"));
    let status = status_of(&observed);
    assert_eq!(
        (status.ops.as_deref(), status.ops_template.as_deref()),
        (Some("lab"), Some("first"))
    );
    // Nothing else may happen for a long time, so it counts at once.
    assert_eq!(status.counts.as_ref().unwrap().attached, Some(2));
    assert_eq!(status.problems.len(), 1, "{:?}", status.problems);
    assert_eq!(status.problems[0].node, "node1");
    Arc::make_mut(&mut observed.schedext).status = Some(status.clone());
    assert_eq!(status_of(&observed), status);
}

/// The first two nodes run the same foreign scheduler.
#[test]
fn a_wrong_name_is_corrected_by_the_majority() {
    let mut observed = two_nodes([enabled("evil"), enabled("evil")]);
    let attached = |observed: &mut Observed, nodes: &[&str]| {
        for node in nodes {
            let mut pod = pod("one", node, PodState::Running);
            Arc::make_mut(&mut pod).started = Some(Timestamp::from_second(1000).unwrap());
            observed.pods.push(pod);
            observed.kernels.insert((*node).into(), enabled("lab"));
        }
        let status = status_of(observed);
        Arc::make_mut(&mut observed.schedext).status = Some(status.clone());
        (status.ops.unwrap(), status.counts.unwrap().attached)
    };
    assert_eq!(attached(&mut observed, &[]), ("evil".to_owned(), Some(2)));
    let equal = attached(&mut observed, &["node3", "node4"]);
    assert_eq!(
        equal,
        ("evil".to_owned(), Some(2)),
        "none has more than half"
    );
    let more = attached(&mut observed, &["node5"]);
    assert_eq!(more, ("lab".to_owned(), Some(3)));
}

#[test]
fn a_policy_that_is_not_enforced_blocks_no_roll_out() {
    let mut observed = two_nodes([enabled("lab"), enabled("lab")]);
    observed.unenforced_policies = vec!["sked-manager-nodes"];
    let status = status_of(&observed);
    assert_eq!(values(&status)[0], "Ready=True/Attached");
    let live = Arc::make_mut(&mut observed.daemonsets[0]);
    live.updated = live.desired - 1;
    let status = status_of(&observed);
    let values = values(&status);
    assert!(values[0].starts_with("Ready=False/"), "{values:?}");
    assert!(
        values.contains(&"Progressing=True/RollingOut".to_owned()),
        "{values:?}"
    );
    assert!(
        values.contains(&"Degraded=True/PolicyNotEnforced".to_owned()),
        "{values:?}"
    );
}

#[test]
fn what_a_kernel_lacks_is_reported_until_it_runs_the_scheduler_after_all() {
    let mut observed = two_nodes([KernelState::Disabled, enabled("lab")]);
    for node in ["node1", "node2"] {
        let gaps = "/sys/kernel/btf/vmlinux is missing: boot a kernel with CONFIG_DEBUG_INFO_BTF=y";
        observed.kernel_gaps.insert(node.into(), gaps.to_owned());
    }
    let late = status_of(&observed).problems[0].message.clone();
    assert!(
        late.contains("; also, no scheduler can be loaded"),
        "{late}"
    );
    observed.now = Timestamp::from_second(1001).unwrap();
    let status = status_of(&observed);
    let problems = &status.problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(
        (&*problems[0].node, &*problems[0].reason),
        ("node1", "KernelIncomplete")
    );
    assert!(problems[0].message.contains("CONFIG_DEBUG_INFO_BTF"));
}

#[test]
fn architectures_with_different_names_prove_nothing() {
    let mut observed = two_nodes([enabled("lab"), enabled("lab")]);
    for node in ["node3", "node4"] {
        let mut pod = pod("one", node, PodState::Running);
        Arc::make_mut(&mut pod).started = Some(Timestamp::from_second(1000).unwrap());
        observed.pods.push(pod);
        observed.kernels.insert(node.into(), enabled("lab_arm"));
        observed
            .architectures
            .insert(node.into(), "arm64".to_owned());
    }
    let status = status_of(&observed);
    assert_eq!(status.counts.unwrap().attached, Some(4));
    assert_eq!(status.ops_template, None);
}

#[test]
fn excluded_nodes_are_listed_with_the_reason() {
    let mut observed = two_nodes([enabled("lab"), enabled("lab")]);
    let assignment = Arc::make_mut(&mut observed.assignment);
    assignment.excluded.foreign = 1;
    assignment.excluded.unsupported = 1;
    assignment.excluded.nodes = vec![
        (
            "node3".into(),
            ExclusionReason::Foreign(Some("rusty".parse().unwrap())),
        ),
        (
            "node4".into(),
            ExclusionReason::Unsupported("6.1.0".to_owned()),
        ),
    ];
    let status = status_of(&observed);
    assert_eq!(values(&status)[0], "Ready=True/Attached");
    assert_eq!(values(&status)[3], "Conflicted=True/ForeignScheduler");
    assert!(status.conditions[3].message.contains("rusty"));
    let problems: Vec<_> = status.problems.iter().map(|one| &*one.reason).collect();
    assert_eq!(problems, ["ForeignScheduler", "UnsupportedKernel"]);
    let counts = status.counts.unwrap();
    assert_eq!((counts.foreign, counts.unsupported), (1, 1));
    Arc::make_mut(&mut observed.assignment)
        .parts
        .get_mut(&PartId::stable(None))
        .unwrap()
        .nodes
        .clear();
    assert_eq!(
        values(&status_of(&observed))[0],
        "Ready=False/ForeignScheduler"
    );
}

#[test]
fn a_kernel_older_than_the_minimum_is_reported_until_it_runs_the_scheduler() {
    let mut observed = two_nodes([KernelState::Enabling, KernelState::Enabling]);
    observed.now = Timestamp::from_second(1010).unwrap();
    for (node, release) in [("node1", "6.14.0-1-amd64"), ("node2", "6.12.9+deb13")] {
        let release = release.parse().unwrap();
        observed.releases.insert(node.into(), release);
    }
    let problems_of = |status: &SchedExtStatus| -> Vec<String> {
        let problems = status.problems.iter();
        problems
            .map(|one| format!("{} {}", one.node, one.reason))
            .collect()
    };
    let (plan_before, before) = (plan(&observed), status_of(&observed));
    assert_eq!(problems_of(&before), [""; 0]);
    let image = observed.schedext.spec.sched.clone();
    for (min_kernel, problems) in [
        ("6.12.9", &[][..]),
        ("6.14", &["node2 KernelTooOld"]),
        ("7.0", &["node1 KernelTooOld", "node2 KernelTooOld"]),
    ] {
        observed.facts.insert(image.clone(), asks_for(min_kernel));
        let status = status_of(&observed);
        assert_eq!(problems_of(&status), problems, "{min_kernel}");
        assert_eq!(values(&status), values(&before), "nothing has failed yet");
        assert_eq!(plan(&observed), plan_before, "nothing is moved");
    }
    let message = &status_of(&observed).problems[1].message;
    assert!(
        message.contains("6.12.9+deb13 is older than 7.0"),
        "{message}"
    );

    // A failure keeps its reason, and the minimum kernel is appended to its message.
    observed.facts.insert(image, asks_for("6.14"));
    observed.now = Timestamp::from_second(1200).unwrap();
    let status = status_of(&observed);
    assert_eq!(
        problems_of(&status),
        ["node1 NotAttached", "node2 NotAttached"]
    );
    let besides = |at: usize| status.problems[at].message.contains("older than 6.14");
    assert_eq!((besides(0), besides(1)), (false, true), "{status:?}");

    // The kernel state has precedence.
    for (kernel, ready) in [
        (KernelState::Unsupported("6.11".to_owned()), false),
        (enabled("lab"), true),
    ] {
        for node in ["node1", "node2"] {
            observed.kernels.insert(node.into(), kernel.clone());
        }
        let status = status_of(&observed);
        assert_eq!(problems_of(&status), [""; 0]);
        assert_eq!(values(&status)[0] == "Ready=True/Attached", ready);
    }
}
