//! The decision table row by row, and the readiness gate.

use schedkit_core::SchedulerExit;

use super::*;
use crate::fixture::pod;
use crate::live_pod::Gate;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn in_state(state: PodState) -> LivePod {
    let mut pod = LivePod::clone(&pod("one", "node1", state));
    pod.started = Some(at(100));
    pod
}

fn running() -> LivePod {
    in_state(PodState::Running)
}

fn enabled(since: i64) -> KernelState {
    KernelState::Enabled {
        ops: "lab_1.2.0".parse().unwrap(),
        since: at(since),
    }
}

fn last_exit(output: &str) -> Option<ContainerExit> {
    Some(ContainerExit {
        code: 1,
        reason: "Error".to_owned(),
        exit_message: SchedulerExit::parse(output),
        at: Some(at(90)),
    })
}

fn gate(attached: bool, reason: &str, since: i64) -> Option<Gate> {
    Some(Gate {
        attached,
        reason: reason.to_owned(),
        since: at(since),
    })
}

fn state(pod: &LivePod, kernel: &KernelState) -> NodeState {
    node_state(pod, kernel, None)
}

#[test]
fn an_attach_after_the_containers_start_counts() {
    let attached = NodeState::Attached("lab_1.2.0".parse().unwrap());
    assert_eq!(
        state(&running(), &enabled(100)),
        attached,
        "the same second"
    );
    assert_eq!(state(&running(), &enabled(500)), attached);
    assert_eq!(state(&running(), &enabled(99)), NodeState::Attaching);
    assert_eq!(
        state(&running(), &KernelState::Enabling),
        NodeState::Attaching
    );
    assert_eq!(
        state(&running(), &KernelState::Disabled),
        NodeState::Attaching
    );
}

#[test]
fn another_name_is_foreign_and_another_version_is_not() {
    let expects = |name: &str| {
        let name: OpsName = name.parse().unwrap();
        node_state(&running(), &enabled(100), Some(&name.scheduler()))
    };
    assert!(matches!(expects("lab_1.1.0"), NodeState::Attached(_)));
    assert!(matches!(expects("lab"), NodeState::Attached(_)));
    assert!(matches!(expects("rusty_1.2.0"), NodeState::Foreign(_)));
}

#[test]
fn an_unknown_kernel_leaves_the_gate_unchanged() {
    let mut pod = running();
    for attached in [true, false] {
        pod.gate = gate(attached, "Attached", 100);
        for reason in [
            UnknownReason::NoReport,
            UnknownReason::NoAgent,
            UnknownReason::OtherBoot,
        ] {
            let state = state(&pod, &KernelState::Unknown(reason.clone()));
            assert_eq!(state, NodeState::Unknown(reason));
            assert_eq!(gate_update(&pod, &state), None);
        }
    }
}

#[test]
fn a_detached_scheduler_differs_from_one_that_was_never_attached() {
    let mut pod = running();
    pod.gate = gate(true, "Attached", 105);
    assert_eq!(state(&pod, &KernelState::Disabled), NodeState::Detached);
    pod.gate = gate(false, DETACHED, 110);
    assert_eq!(state(&pod, &KernelState::Disabled), NodeState::Detached);
    // Another container of the same pod had it.
    pod.gate = gate(true, "Attached", 50);
    assert_eq!(state(&pod, &KernelState::Disabled), NodeState::Attaching);
    pod.gate = gate(false, "Attaching", 110);
    assert_eq!(state(&pod, &KernelState::Disabled), NodeState::Attaching);
}

#[test]
fn an_exit_message_means_ejected_until_the_next_attach() {
    let stall = "EXIT: runnable task stall (lab_stall[7] failed to run for 5.1s)";
    for (output, expected) in [
        (stall, NodeState::Ejected),
        ("EXIT: disabled by sysrq-S", NodeState::Ejected),
        ("EXIT: unregistered from user space", NodeState::Detached),
        ("libbpf: failed to open system Kconfig", NodeState::Detached),
    ] {
        let mut ended = in_state(PodState::Ended);
        ended.last_exit = last_exit(output);
        for kernel in [
            KernelState::Disabled,
            KernelState::Unknown(UnknownReason::NoAgent),
        ] {
            assert_eq!(state(&ended, &kernel), expected, "{output}");
        }
    }
    let mut again = running();
    again.last_exit = last_exit(stall);
    assert_eq!(state(&again, &KernelState::Disabled), NodeState::Ejected);
    assert!(matches!(
        state(&again, &enabled(101)),
        NodeState::Attached(_)
    ));
    again.last_exit = last_exit("EXIT: unregistered from user space");
    assert_eq!(state(&again, &KernelState::Disabled), NodeState::Attaching);
}

#[test]
fn a_container_that_does_not_run_is_not_attached_whatever_the_kernel_runs() {
    let waiting = PodState::Waiting {
        reason: "ImagePullBackOff".to_owned(),
        message: String::new(),
    };
    let failed = PodState::Failed {
        reason: "Evicted".to_owned(),
        message: String::new(),
    };
    for (pod, expected) in [
        (in_state(waiting), NodeState::NotStarted),
        (in_state(PodState::Starting), NodeState::Attaching),
        (in_state(PodState::Unscheduled(None)), NodeState::Attaching),
        (in_state(failed), NodeState::Detached),
        (in_state(PodState::Ended), NodeState::Detached),
    ] {
        assert_eq!(state(&pod, &enabled(500)), expected);
        let unsupported = KernelState::Unsupported("6.1.0".to_owned());
        assert_eq!(state(&pod, &unsupported), NodeState::Unsupported);
    }
}

#[test]
fn the_gate_opens_with_the_attach_and_closes_with_every_other_known_state() {
    let ops: OpsName = "lab".parse().unwrap();
    let mut pod = running();
    let opened = gate_update(&pod, &NodeState::Attached(ops.clone())).unwrap();
    assert!(opened.attached);
    for state in [
        NodeState::Attaching,
        NodeState::Detached,
        NodeState::Ejected,
        NodeState::NotStarted,
        NodeState::Foreign(ops.clone()),
        NodeState::Unsupported,
    ] {
        pod.gate = gate(true, "Attached", 100);
        assert!(!gate_update(&pod, &state).unwrap().attached, "{state:?}");
        // An absent gate counts as closed, so nothing is written.
        for closed in [gate(false, "Attaching", 100), None] {
            pod.gate = closed;
            assert_eq!(gate_update(&pod, &state), None);
        }
    }
    pod.gate = gate(true, "Attached", 100);
    assert_eq!(gate_update(&pod, &NodeState::Attached(ops)), None);
    pod.deleting = true;
    assert_eq!(gate_update(&pod, &NodeState::Detached), None);
}
