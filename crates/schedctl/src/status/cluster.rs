//! Adds sked's schedulers to an assessment: what is attached and not schedctl's may be sked's.
//!
//! ```text
//!  status ╲ sked's live pods │ none                   its scheduler is attached  another one, or none
//!  ──────────────────────────┼───────────────────────────────────────────────────────────────────
//!  idle                      │ idle                   –                          idle, warning
//!  orphaned-kernel-state     │ orphaned-kernel-state  running                    orphaned, warning
//!  any other                 │ ─────────── unchanged; a warning for each of sked's ──────────────
//! ```
//!
//! Called after [`super::assess()`], by `status` and by [`crate::decide`]. Pure.

use schedkit_core::OpsName;
use schedkit_host::{Fact, KernelSchedExt};

use super::assessment::{Assessment, Status};
use super::kernel_state::KernelState;
use super::messages;
use super::names::{Comparison, Names};
use crate::sked::SkedPod;

pub(crate) fn include_sked<'a>(
    assessment: Assessment<'a>,
    kernel: &Fact<KernelSchedExt>,
    pods: &'a [SkedPod],
) -> Assessment<'a> {
    let attached = match assessment.status {
        Status::OrphanedKernelState | Status::ManagedMismatch => attached_pod(kernel, pods),
        Status::Idle | Status::Running | Status::ManagedDetached | Status::MultipleManaged => None,
    };
    let mut assessment = match (assessment.status, attached) {
        (Status::OrphanedKernelState, Some(pod)) => Assessment {
            status: Status::Running,
            discrepancy: None,
            sked: Some(pod),
            ..assessment
        },
        (Status::ManagedMismatch, Some(pod)) => assessment.warn(messages::attached_by_sked(pod)),
        _ => assessment,
    };
    let ops = ops(kernel);
    if let Some(pod) = assessment.sked
        && Names::of(&pod.container.container).compare(ops) != Comparison::Same
    {
        assessment = assessment.warn(messages::other_name_of_sked(pod, ops));
    }
    let idle = pods.iter().filter(|pod| attached != Some(*pod));
    assessment.warnings.extend(messages::not_attached(idle));
    assessment
}

/// The pod whose scheduler is attached. A name is stronger evidence than a struct_ops link: an
/// ejected process may still hold one. Without either, a single pod is taken to be the one.
pub(crate) fn attached_pod<'a>(
    kernel: &Fact<KernelSchedExt>,
    pods: &'a [SkedPod],
) -> Option<&'a SkedPod> {
    let Ok(KernelState::Enabled(ops)) = KernelState::of(kernel) else {
        return None;
    };
    let rank = |pod: &SkedPod| {
        let comparison = Names::of(&pod.container.container).compare(ops);
        match (comparison, &pod.holds_scheduler) {
            (Comparison::Same, Fact::Known(true)) => Some(4),
            (Comparison::Same, _) => Some(3),
            (_, Fact::Known(true)) => Some(2),
            (Comparison::Unknown, holds) if *holds != Fact::Known(false) && pods.len() == 1 => {
                Some(1)
            }
            _ => None,
        }
    };
    let ranked = pods.iter().filter_map(|pod| Some((rank(pod)?, pod)));
    let best = ranked.max_by_key(|(rank, _)| *rank);
    best.map(|(_, pod)| pod)
}

fn ops(kernel: &Fact<KernelSchedExt>) -> Option<&OpsName> {
    kernel.known().and_then(KernelSchedExt::attached)
}

#[cfg(test)]
mod tests {
    use schedkit_host::SchedExtState;

    use super::super::assess;
    use super::*;
    use crate::container::RuntimeContainer;
    use crate::fixtures::{kernel, runtime_container, sked_pod};
    use schedkit_runtime::driver::Runtime;

    fn assessed<'a>(
        kernel: &Fact<KernelSchedExt>,
        ours: &'a [RuntimeContainer],
        pods: &'a [SkedPod],
    ) -> Assessment<'a> {
        let assessment = assess(kernel, ours, &Fact::Absent, None).unwrap();
        include_sked(assessment, kernel, pods)
    }

    fn with(holds_scheduler: Fact<bool>) -> SkedPod {
        SkedPod {
            holds_scheduler,
            ..sked_pod("scx_lab")
        }
    }

    #[test]
    fn the_decision_table() {
        use Status::*;
        let enabled = |ops| kernel(SchedExtState::Enabled, Some(ops), Some(4));
        let nameless = kernel(SchedExtState::Enabled, None, Some(4));
        let disabled = kernel(SchedExtState::Disabled, None, Some(4));
        let moving = kernel(SchedExtState::Enabling, None, Some(4));
        let lab = || runtime_container(Runtime::Podman, "0123456789abcdef", "scx_lab");
        let (yes, no, unknown) = (Fact::Known(true), Fact::Known(false), Fact::Absent);
        for (kernel, ours, holds, status, sked, warnings) in [
            // No container of schedctl; sked's scheduler is attached, by its name or its process.
            (enabled("lab_1.0"), vec![], &unknown, Running, true, 0),
            (enabled("lab_1.0"), vec![], &yes, Running, true, 0),
            (enabled("lab_1.0"), vec![], &no, Running, true, 0),
            (enabled("own_name"), vec![], &yes, Running, true, 1),
            (nameless.clone(), vec![], &yes, Running, true, 1),
            (nameless.clone(), vec![], &unknown, Running, true, 1),
            // Another scheduler is attached, or none.
            (
                enabled("own_name"),
                vec![],
                &no,
                OrphanedKernelState,
                false,
                1,
            ),
            (
                enabled("own_name"),
                vec![],
                &unknown,
                OrphanedKernelState,
                false,
                1,
            ),
            (nameless, vec![], &no, OrphanedKernelState, false, 1),
            (moving, vec![], &unknown, OrphanedKernelState, false, 1),
            (disabled.clone(), vec![], &yes, Idle, false, 1),
            (Fact::Absent, vec![], &unknown, Idle, false, 1),
            // The status is about schedctl's container.
            (enabled("lab_1.0"), vec![lab()], &unknown, Running, false, 1),
            (disabled, vec![lab()], &unknown, ManagedDetached, false, 1),
            (
                enabled("own_name"),
                vec![lab()],
                &yes,
                ManagedMismatch,
                false,
                1,
            ),
            (
                enabled("own_name"),
                vec![lab(), lab()],
                &yes,
                MultipleManaged,
                false,
                1,
            ),
        ] {
            let pods = [with(holds.clone())];
            let assessment = assessed(&kernel, &ours, &pods);
            let row = format!("{kernel:?} {ours:?} {holds:?}: {assessment:?}");
            assert_eq!(assessment.status, status, "{row}");
            assert_eq!(assessment.sked.is_some(), sked, "{row}");
            assert_eq!(assessment.warnings.len(), warnings, "{row}");
            let agrees = matches!(status, Idle | Running);
            assert_eq!(assessment.discrepancy.is_none(), agrees, "{row}");
        }
    }

    #[test]
    fn the_attached_pod_is_the_subject_and_the_others_are_warnings() {
        let attached = kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4));
        let mut ejected = sked_pod("scx_other");
        ejected.holds_scheduler = Fact::Known(true);
        ejected.pod.name = "other-y8".to_owned();
        let pods = [ejected, with(Fact::Absent)];
        let assessment = assessed(&attached, &[], &pods);
        assert_eq!(assessment.sked, Some(&pods[1]));
        assert_eq!(assessment.warnings.len(), 1);
        assert!(
            assessment.warnings[0].contains("team/other-y8"),
            "{assessment:?}"
        );
        assert!(assessment.warnings[0].contains("kubectl"), "{assessment:?}");
    }

    #[test]
    fn without_sked_the_assessment_is_unchanged() {
        let attached = kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4));
        let before = assess(&attached, &[], &Fact::Absent, None).unwrap();
        let after = assessed(&attached, &[], &[]);
        assert_eq!(before, after);
    }
}
