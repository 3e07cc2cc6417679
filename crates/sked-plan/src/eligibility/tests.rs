//! Whose scheduler it is that a kernel runs.

use jiff::Timestamp;

use super::*;
use crate::fixture::pod;
use crate::kernel::Silence;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn enabled(since: i64) -> Kernel {
    Kernel::Enabled {
        ops: "lab".parse().unwrap(),
        since: at(since),
    }
}

fn with(kernel: &Kernel, pods: &[LivePod]) -> Option<Standing> {
    standing(kernel, pods.iter().map(|pod| (pod, None)))
}

fn running() -> LivePod {
    let mut pod = LivePod::clone(&pod("one", "node1", PodState::Running));
    pod.started = Some(at(100));
    pod
}

#[test]
fn what_no_pod_of_ours_can_have_attached_is_somebody_elses() {
    let foreign = Some(Standing::Barred(Bar::Foreign(Some("lab".parse().unwrap()))));
    assert_eq!(with(&enabled(200), &[]), foreign);
    assert_eq!(with(&enabled(99), &[running()]), foreign);
    assert_eq!(with(&enabled(100), &[running()]), Some(Standing::Free));
    let starting = LivePod {
        state: PodState::Starting,
        ..running()
    };
    assert_eq!(
        with(&enabled(200), std::slice::from_ref(&starting)),
        foreign
    );
    assert_eq!(
        with(&enabled(200), &[starting, running()]),
        Some(Standing::Free)
    );
    let other: OpsName = "rusty".parse().unwrap();
    let pod = running();
    let named = std::iter::once((&pod, Some(other.scheduler())));
    assert_eq!(standing(&enabled(200), named), foreign);
}

#[test]
fn a_pod_that_goes_keeps_what_it_attached() {
    let going = LivePod {
        deleting: true,
        ..running()
    };
    assert_eq!(with(&enabled(100), &[going]), Some(Standing::Free));
}

#[test]
fn a_kernel_that_says_nothing_bars_nothing_and_frees_nothing() {
    let silent = Kernel::Unknown(Silence::NoAgent);
    assert_eq!(with(&silent, &[]), None);
    assert_eq!(with(&Kernel::Disabled, &[]), Some(Standing::Free));
    let old = Kernel::Unsupported("6.1.0".to_owned());
    let bar = Bar::Unsupported("6.1.0".to_owned());
    assert_eq!(with(&old, &[running()]), Some(Standing::Barred(bar)));
}

#[test]
fn every_reserved_word_is_a_bar_that_says_itself() {
    for word in label::RESERVED {
        assert_eq!(Bar::of_word(word).unwrap().word(), word);
    }
    assert_eq!(Bar::of_word("0123456789abcdef"), None);
}
