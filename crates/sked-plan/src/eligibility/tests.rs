//! Whether an attached scheduler is ours.

use jiff::Timestamp;

use super::*;
use crate::fixture::pod;
use crate::kernel_state::UnknownReason;

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
    eligibility(kernel, pods.iter().map(|pod| (pod, None)))
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
        Some(Eligibility::Eligible)
    );
    let other: OpsName = "rusty".parse().unwrap();
    let pod = running();
    let named = std::iter::once((&pod, Some(other.scheduler())));
    assert_eq!(eligibility(&enabled(200), named), foreign);
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
