//! What sked runs, held against the kernel's word: who else may have attached what is not ours.
//!
//! ```text
//!  kernel ╲ sked's pods live │ none                   its scheduler is attached  another, or none is
//!  ──────────────────────────┼───────────────────────────────────────────────────────────────────
//!  idle                      │ idle                   –                          idle, a remark
//!  orphaned-kernel-state     │ orphaned-kernel-state  running                    orphaned, a remark
//!  any that is about ours    │ ─────────── as it was; a remark for each of sked's ───────────────
//! ```
//!
//! Called after [`super::judge`], by `status` and by [`crate::decide`]. Pure.

use schedkit_core::OpsName;
use schedkit_host::{Fact, SchedExt};

use super::names::{Comparison, Names};
use super::{Judgement, Kernel, Status, sentences};
use crate::sked::SkedPod;

/// A judgement that knows of sked.
pub(crate) fn recognise<'a>(
    judgement: Judgement<'a>,
    kernel: &Fact<SchedExt>,
    pods: &'a [SkedPod],
) -> Judgement<'a> {
    let attached = match judgement.status {
        Status::OrphanedKernelState | Status::ManagedMismatch => attached(kernel, pods),
        Status::Idle | Status::Running | Status::ManagedDetached | Status::MultipleManaged => None,
    };
    let mut judgement = match (judgement.status, attached) {
        (Status::OrphanedKernelState, Some(pod)) => Judgement {
            status: Status::Running,
            discrepancy: None,
            sked: Some(pod),
            ..judgement
        },
        (Status::ManagedMismatch, Some(pod)) => judgement.remark(sentences::sked_has_it(pod)),
        _ => judgement,
    };
    let ops = ops(kernel);
    if let Some(pod) = judgement.sked
        && Names::of(&pod.held.container).compare(ops) != Comparison::Same
    {
        judgement = judgement.remark(sentences::other_name_of_sked(pod, ops));
    }
    let idle = pods.iter().filter(|pod| attached != Some(*pod));
    judgement.remarks.extend(sentences::not_attached(idle));
    judgement
}

/// The one whose scheduler the kernel has. Its name and its process both tell, and the name more:
/// a process that was thrown out may still hold what it had. Where neither tells, the only one
/// that there is counts, as it would among ours.
pub(crate) fn attached<'a>(kernel: &Fact<SchedExt>, pods: &'a [SkedPod]) -> Option<&'a SkedPod> {
    let Ok(Kernel::Enabled(ops)) = Kernel::of(kernel) else {
        return None;
    };
    let rank = |pod: &SkedPod| {
        let comparison = Names::of(&pod.held.container).compare(ops);
        match (comparison, &pod.holds) {
            (Comparison::Same, Fact::Known(true)) => Some(4),
            (Comparison::Same, _) => Some(3),
            (_, Fact::Known(true)) => Some(2),
            (Comparison::Unknown, held) if *held != Fact::Known(false) && pods.len() == 1 => {
                Some(1)
            }
            _ => None,
        }
    };
    let ranked = pods.iter().filter_map(|pod| Some((rank(pod)?, pod)));
    let best = ranked.max_by_key(|(rank, _)| *rank);
    best.map(|(_, pod)| pod)
}

fn ops(kernel: &Fact<SchedExt>) -> Option<&OpsName> {
    kernel.known().and_then(SchedExt::attached)
}

#[cfg(test)]
mod tests {
    use schedkit_host::SchedExtState;

    use super::super::tests::{held, kernel, sked_pod};
    use super::super::{Held, judge};
    use super::*;
    use schedkit_runtime::driver::Runtime;

    fn judged<'a>(kernel: &Fact<SchedExt>, ours: &'a [Held], pods: &'a [SkedPod]) -> Judgement<'a> {
        let judgement = judge(kernel, ours, &Fact::Absent, None).unwrap();
        recognise(judgement, kernel, pods)
    }

    fn with(holds: Fact<bool>) -> SkedPod {
        SkedPod {
            holds,
            ..sked_pod("scx_lab")
        }
    }

    #[test]
    fn the_truth_table() {
        use Status::*;
        let enabled = |ops| kernel(SchedExtState::Enabled, Some(ops), Some(4));
        let nameless = kernel(SchedExtState::Enabled, None, Some(4));
        let disabled = kernel(SchedExtState::Disabled, None, Some(4));
        let moving = kernel(SchedExtState::Enabling, None, Some(4));
        let lab = || held(Runtime::Podman, "0123456789abcdef", "scx_lab");
        let (yes, no, unseen) = (Fact::Known(true), Fact::Known(false), Fact::Absent);
        for (kernel, ours, holds, status, sked, remarks) in [
            // Nothing of ours, and sked's scheduler is the kernel's, by name or by its process.
            (enabled("lab_1.0"), vec![], &unseen, Running, true, 0),
            (enabled("lab_1.0"), vec![], &yes, Running, true, 0),
            (enabled("lab_1.0"), vec![], &no, Running, true, 0),
            (enabled("own_name"), vec![], &yes, Running, true, 1),
            (nameless.clone(), vec![], &yes, Running, true, 1),
            (nameless.clone(), vec![], &unseen, Running, true, 1),
            // It is not: somebody else's is, or none.
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
                &unseen,
                OrphanedKernelState,
                false,
                1,
            ),
            (nameless, vec![], &no, OrphanedKernelState, false, 1),
            (moving, vec![], &unseen, OrphanedKernelState, false, 1),
            (disabled.clone(), vec![], &yes, Idle, false, 1),
            (Fact::Absent, vec![], &unseen, Idle, false, 1),
            // Ours is what is spoken of.
            (enabled("lab_1.0"), vec![lab()], &unseen, Running, false, 1),
            (disabled, vec![lab()], &unseen, ManagedDetached, false, 1),
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
            let judgement = judged(&kernel, &ours, &pods);
            let row = format!("{kernel:?} {ours:?} {holds:?}: {judgement:?}");
            assert_eq!(judgement.status, status, "{row}");
            assert_eq!(judgement.sked.is_some(), sked, "{row}");
            assert_eq!(judgement.remarks.len(), remarks, "{row}");
            let agrees = matches!(status, Idle | Running);
            assert_eq!(judgement.discrepancy.is_none(), agrees, "{row}");
        }
    }

    #[test]
    fn of_several_the_one_that_is_attached_is_named_and_the_others_are_told() {
        let attached = kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4));
        let mut thrown_out = sked_pod("scx_other");
        thrown_out.holds = Fact::Known(true);
        thrown_out.pod.name = "other-y8".to_owned();
        let pods = [thrown_out, with(Fact::Absent)];
        let judgement = judged(&attached, &[], &pods);
        assert_eq!(judgement.sked, Some(&pods[1]));
        assert_eq!(judgement.remarks.len(), 1);
        assert!(
            judgement.remarks[0].contains("team/other-y8"),
            "{judgement:?}"
        );
        assert!(judgement.remarks[0].contains("kubectl"), "{judgement:?}");
    }

    #[test]
    fn without_sked_nothing_changes() {
        let attached = kernel(SchedExtState::Enabled, Some("lab_1.0"), Some(4));
        let before = judge(&attached, &[], &Fact::Absent, None).unwrap();
        let after = judged(&attached, &[], &[]);
        assert_eq!(before, after);
    }
}
