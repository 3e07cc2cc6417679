//! Whether an attached scheduler is ours.

use jiff::Timestamp;

use super::*;
use crate::fixture::pod;
use crate::kernel_state::UnknownReason;
use crate::live_pod::ContainerExit;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn enabled(since: i64) -> KernelState {
    KernelState::Enabled {
        ops: "lab".parse().unwrap(),
        since: at(since),
    }
}

fn with(kernel: &KernelState, pods: &[LivePod]) -> Option<Eligibility> {
    eligibility(kernel, pods.iter())
}

fn running() -> LivePod {
    let mut pod = LivePod::clone(&pod("one", "node1", PodState::Running));
    pod.started = Some(at(100));
    pod
}

#[test]
fn a_scheduler_that_no_pod_of_ours_can_have_attached_is_foreign() {
    let foreign = Some(Eligibility::Excluded(ExclusionReason::Foreign(Some(
        "lab".parse().unwrap(),
    ))));
    assert_eq!(with(&enabled(200), &[]), foreign);
    assert_eq!(with(&enabled(99), &[running()]), foreign);
    assert_eq!(
        with(&enabled(100), &[running()]),
        Some(Eligibility::Eligible)
    );
}

/// kubelet may take longer to report a start than the kernel to attach.
#[test]
fn a_scheduler_that_a_starting_container_may_have_attached_is_not_foreign() {
    let eligible = Some(Eligibility::Eligible);
    let in_state = |state| LivePod {
        state,
        created: at(150),
        ..running()
    };
    let waiting = PodState::Waiting {
        reason: "ImagePullBackOff".to_owned(),
        message: String::new(),
    };
    for state in [PodState::Starting, waiting] {
        assert_eq!(with(&enabled(200), &[in_state(state.clone())]), eligible);
        // The node's clock may be a minute behind.
        assert_eq!(with(&enabled(90), &[in_state(state.clone())]), eligible);
        assert_ne!(with(&enabled(89), &[in_state(state)]), eligible);
    }
    // Restarted after an exit, which kubelet has not reported yet.
    let mut ended = in_state(PodState::Ended);
    ended.last_exit = Some(ContainerExit {
        code: 1,
        reason: "Error".to_owned(),
        exit_message: None,
        at: Some(at(180)),
    });
    assert_eq!(with(&enabled(200), &[ended.clone()]), eligible);
    assert_ne!(with(&enabled(179), &[ended]), eligible);
    for state in [
        PodState::Unscheduled(None),
        PodState::Failed {
            reason: "Evicted".to_owned(),
            message: String::new(),
        },
    ] {
        assert_ne!(with(&enabled(200), &[in_state(state)]), eligible);
    }
}

#[test]
fn a_pod_that_is_being_deleted_keeps_its_scheduler() {
    let deleting = LivePod {
        deleting: true,
        ..running()
    };
    assert_eq!(
        with(&enabled(100), &[deleting]),
        Some(Eligibility::Eligible)
    );
}

#[test]
fn an_unknown_kernel_has_no_eligibility() {
    let unknown = KernelState::Unknown(UnknownReason::NoAgent);
    assert_eq!(with(&unknown, &[]), None);
    assert_eq!(
        with(&KernelState::Disabled, &[]),
        Some(Eligibility::Eligible)
    );
    let old = KernelState::Unsupported("6.1.0".to_owned());
    let reason = ExclusionReason::Unsupported("6.1.0".to_owned());
    assert_eq!(
        with(&old, &[running()]),
        Some(Eligibility::Excluded(reason))
    );
}

#[test]
fn every_reserved_label_value_has_its_exclusion_reason() {
    for value in label::RESERVED {
        assert_eq!(
            ExclusionReason::from_label_value(value)
                .unwrap()
                .label_value(),
            value
        );
    }
    assert_eq!(ExclusionReason::from_label_value("0123456789abcdef"), None);
}
