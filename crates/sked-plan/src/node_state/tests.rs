//! The truth table, row by row, and what becomes of the gate.

use schedkit_core::SchedulerExit;

use super::*;
use crate::fixture::pod;
use crate::observed::Gate;

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

fn enabled(since: i64) -> Kernel {
    Kernel::Enabled {
        ops: "lab_1.2.0".parse().unwrap(),
        since: at(since),
    }
}

fn ending(words: &str) -> Option<Ending> {
    Some(Ending {
        code: 1,
        reason: "Error".to_owned(),
        words: SchedulerExit::parse(words),
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

fn state(pod: &LivePod, kernel: &Kernel) -> NodeState {
    node_state(pod, kernel, None)
}

#[test]
fn a_scheduler_is_attached_when_the_kernel_took_it_after_its_start() {
    let attached = NodeState::Attached("lab_1.2.0".parse().unwrap());
    assert_eq!(
        state(&running(), &enabled(100)),
        attached,
        "the same second"
    );
    assert_eq!(state(&running(), &enabled(500)), attached);
    assert_eq!(state(&running(), &enabled(99)), NodeState::Attaching);
    assert_eq!(state(&running(), &Kernel::Enabling), NodeState::Attaching);
    assert_eq!(state(&running(), &Kernel::Disabled), NodeState::Attaching);
}

#[test]
fn another_name_is_anothers_and_another_version_is_not() {
    let expects = |name: &str| {
        let name: OpsName = name.parse().unwrap();
        node_state(&running(), &enabled(100), Some(&name.scheduler()))
    };
    assert!(matches!(expects("lab_1.1.0"), NodeState::Attached(_)));
    assert!(matches!(expects("lab"), NodeState::Attached(_)));
    assert!(matches!(expects("rusty_1.2.0"), NodeState::Foreign(_)));
}

#[test]
fn what_is_not_known_is_not_known_and_leaves_the_gate_alone() {
    let mut pod = running();
    for attached in [true, false] {
        pod.gate = gate(attached, "Attached", 100);
        for silence in [Silence::NoReport, Silence::NoAgent, Silence::OtherBoot] {
            let state = state(&pod, &Kernel::Unknown(silence.clone()));
            assert_eq!(state, NodeState::Unknown(silence));
            assert_eq!(verdict(&pod, &state), None);
        }
    }
}

#[test]
fn a_kernel_that_let_go_of_a_scheduler_that_it_had_is_told_from_one_that_never_had_it() {
    let mut pod = running();
    pod.gate = gate(true, "Attached", 105);
    assert_eq!(state(&pod, &Kernel::Disabled), NodeState::Detached);
    pod.gate = gate(false, DETACHED, 110);
    assert_eq!(state(&pod, &Kernel::Disabled), NodeState::Detached);
    // Another container of the same pod had it.
    pod.gate = gate(true, "Attached", 50);
    assert_eq!(state(&pod, &Kernel::Disabled), NodeState::Attaching);
    pod.gate = gate(false, "Attaching", 110);
    assert_eq!(state(&pod, &Kernel::Disabled), NodeState::Attaching);
}

#[test]
fn last_words_tell_an_ejection_and_last_until_it_is_attached_again() {
    let stall = "EXIT: runnable task stall (lab_stall[7] failed to run for 5.1s)";
    for (words, expected) in [
        (stall, NodeState::Ejected),
        ("EXIT: disabled by sysrq-S", NodeState::Ejected),
        ("EXIT: unregistered from user space", NodeState::Detached),
        ("libbpf: failed to open system Kconfig", NodeState::Detached),
    ] {
        let mut ended = in_state(PodState::Ended);
        ended.ending = ending(words);
        for kernel in [Kernel::Disabled, Kernel::Unknown(Silence::NoAgent)] {
            assert_eq!(state(&ended, &kernel), expected, "{words}");
        }
    }
    let mut again = running();
    again.ending = ending(stall);
    assert_eq!(state(&again, &Kernel::Disabled), NodeState::Ejected);
    assert!(matches!(
        state(&again, &enabled(101)),
        NodeState::Attached(_)
    ));
    again.ending = ending("EXIT: unregistered from user space");
    assert_eq!(state(&again, &Kernel::Disabled), NodeState::Attaching);
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
        let unsupported = Kernel::Unsupported("6.1.0".to_owned());
        assert_eq!(state(&pod, &unsupported), NodeState::Unsupported);
    }
}

#[test]
fn the_gate_opens_with_the_attach_and_closes_with_everything_that_is_known() {
    let ops: OpsName = "lab".parse().unwrap();
    let mut pod = running();
    let opened = verdict(&pod, &NodeState::Attached(ops.clone())).unwrap();
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
        assert!(!verdict(&pod, &state).unwrap().attached, "{state:?}");
        // Said once is enough: a gate without a word is closed too.
        for closed in [gate(false, "Attaching", 100), None] {
            pod.gate = closed;
            assert_eq!(verdict(&pod, &state), None);
        }
    }
    pod.gate = gate(true, "Attached", 100);
    assert_eq!(verdict(&pod, &NodeState::Attached(ops)), None);
    pod.deleting = true;
    assert_eq!(verdict(&pod, &NodeState::Detached), None);
}
