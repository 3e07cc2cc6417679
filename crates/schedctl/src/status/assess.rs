//! Assesses schedctl's containers; the table is in `status.rs`.

use schedkit_core::OpsName;
use schedkit_host::{Fact, KernelSchedExt};
use schedkit_runtime::ContainerId;

use super::assessment::{Assessment, Status};
use super::kernel_state::{KernelState, UnknownKernelState};
use super::messages;
use super::names::{Comparison, Names};
use crate::container::RuntimeContainer;

/// The process whose struct_ops links [`assess`] needs: names alone do not tell whether its
/// scheduler is the attached one.
pub(crate) fn process_to_inspect(
    kernel: &Fact<KernelSchedExt>,
    containers: &[RuntimeContainer],
) -> Option<u32> {
    let Ok(KernelState::Enabled(ops)) = KernelState::of(kernel) else {
        return None;
    };
    let mut live = containers.iter().filter(|container| container.is_live());
    let (only, None) = (live.next()?, live.next()) else {
        return None;
    };
    match Names::of(&only.container).compare(ops) {
        Comparison::Same => None,
        _ => only.container.pid(),
    }
}

/// `holds_scheduler` is about [`process_to_inspect`]; absent if that was not read. `fallback` is
/// the stopped container that a trial restores: it is not a leftover.
pub(crate) fn assess<'a>(
    kernel: &Fact<KernelSchedExt>,
    containers: &'a [RuntimeContainer],
    holds_scheduler: &Fact<bool>,
    fallback: Option<&ContainerId>,
) -> Result<Assessment<'a>, UnknownKernelState> {
    let kernel = KernelState::of(kernel)?;
    let (live, mut leftovers): (Vec<_>, Vec<_>) =
        containers.iter().partition(|container| container.is_live());
    leftovers.retain(|left| fallback != Some(&left.container.id));
    let mut assessment = match live.as_slice() {
        [] => without_container(&kernel),
        [only] => with_one(&kernel, only, holds_scheduler),
        several => with_several(&kernel, several),
    };
    assessment.warnings.extend(messages::unproven(&live));
    assessment.warnings.extend(messages::leftovers(&leftovers));
    Ok(assessment)
}

fn without_container<'a>(kernel: &KernelState<'_>) -> Assessment<'a> {
    let orphaned = |why| Assessment::discrepant(Status::OrphanedKernelState, None, why);
    match kernel {
        KernelState::Unsupported | KernelState::Disabled => {
            Assessment::consistent(Status::Idle, None)
        }
        KernelState::InTransition(state) => orphaned(messages::foreign_transition(state)),
        KernelState::Enabled(ops) => orphaned(messages::orphaned(*ops)),
    }
}

fn with_one<'a>(
    kernel: &KernelState<'_>,
    only: &'a RuntimeContainer,
    holds_scheduler: &Fact<bool>,
) -> Assessment<'a> {
    let detached = |why| Assessment::discrepant(Status::ManagedDetached, Some(only), why);
    match kernel {
        KernelState::Unsupported => detached(messages::unsupported(only)),
        KernelState::Disabled => detached(messages::detached(only)),
        KernelState::InTransition(state) => detached(messages::in_transition(only, state)),
        KernelState::Enabled(ops) => with_attached(*ops, only, holds_scheduler),
    }
}

/// Equal names are enough. Otherwise the process decides: a scheduler may have any ops name, and
/// the process that holds a struct_ops link is the scheduler. If that is unknown, different names
/// are a mismatch, and missing names are not.
fn with_attached<'a>(
    ops: Option<&OpsName>,
    only: &'a RuntimeContainer,
    holds_scheduler: &Fact<bool>,
) -> Assessment<'a> {
    let running = Assessment::consistent(Status::Running, Some(only));
    let comparison = Names::of(&only.container).compare(ops);
    match (comparison, holds_scheduler) {
        (Comparison::Same, _) => running,
        (_, Fact::Known(true)) => running.warn(messages::other_name(only, ops)),
        (Comparison::Different, _) | (_, Fact::Known(false)) => {
            let why = messages::mismatch(only, ops, holds_scheduler);
            Assessment::discrepant(Status::ManagedMismatch, Some(only), why)
        }
        (Comparison::Unknown, _) => running.warn(messages::nothing_to_compare(only, ops)),
    }
}

fn with_several<'a>(kernel: &KernelState<'_>, several: &[&'a RuntimeContainer]) -> Assessment<'a> {
    let attached = match kernel {
        KernelState::Enabled(ops) => several
            .iter()
            .find(|one| Names::of(&one.container).compare(*ops) == Comparison::Same),
        _ => None,
    };
    let subject = attached.or(several.first()).copied();
    let why = messages::several(kernel, several);
    Assessment::discrepant(Status::MultipleManaged, subject, why)
}

#[cfg(test)]
mod tests;
