//! The texts of discrepancies and warnings: what is wrong, the likely cause, what to do. Everything
//! that is quoted is made printable.

use schedkit_core::{OpsName, sanitize};
use schedkit_host::{Fact, SchedExtState};

use super::kernel_state::KernelState;
use crate::container::RuntimeContainer;
use crate::runtimes::driver_name;
use crate::sked::SkedPod;

/// Further containers are counted, not named.
const MAX_NAMED: usize = 8;

pub(super) fn orphaned(ops: Option<&OpsName>) -> String {
    let ops = ops_text(ops);
    format!(
        "the kernel has {ops} attached, but no container of schedctl runs: something else started \
         it (scx_loader, a service, a person); stop it where it was started, or detach it with \
         `schedctl detach --force`"
    )
}

pub(super) fn foreign_transition(state: &SchedExtState) -> String {
    format!(
        "the kernel's state is {:?}, but no container of schedctl runs: something else attaches or \
         detaches a scheduler; try again in a moment",
        state.as_str()
    )
}

pub(super) fn unsupported(only: &RuntimeContainer) -> String {
    format!(
        "{} runs, but this kernel has no sched_ext: `schedctl doctor` shows what is missing, {}",
        container_text(only),
        stop_hint(only)
    )
}

pub(super) fn detached(only: &RuntimeContainer) -> String {
    let id = only.container.id.short();
    format!(
        "{} runs, but the kernel has no scheduler attached: it is still starting, or the kernel \
         has ejected it; `schedctl logs {id}` shows its output, {}",
        container_text(only),
        stop_hint(only)
    )
}

pub(super) fn in_transition(only: &RuntimeContainer, state: &SchedExtState) -> String {
    format!(
        "{} runs, but the kernel's state is still {:?}: try again in a moment; if it stays so, {}",
        container_text(only),
        state.as_str(),
        stop_hint(only)
    )
}

pub(super) fn mismatch(
    only: &RuntimeContainer,
    ops: Option<&OpsName>,
    holds_scheduler: &Fact<bool>,
) -> String {
    let evidence = match holds_scheduler {
        Fact::Known(false) => "holds no scheduler".to_owned(),
        Fact::Known(true) => "holds one".to_owned(),
        unknown => format!(
            "could not be inspected ({}), so only the names were compared",
            unknown.problem().unwrap_or_default()
        ),
    };
    format!(
        "{} runs, but the kernel has {} attached, which is another scheduler: the container's \
         process {evidence}; {}, or stop the other scheduler where it was started",
        container_text(only),
        ops_text(ops),
        stop_hint(only)
    )
}

pub(super) fn other_name(only: &RuntimeContainer, ops: Option<&OpsName>) -> String {
    format!(
        "the kernel's name for the scheduler of {} is {}: the process holds a scheduler, so this \
         is the name that it registered",
        container_text(only),
        ops_text(ops)
    )
}

pub(super) fn nothing_to_compare(only: &RuntimeContainer, ops: Option<&OpsName>) -> String {
    format!(
        "it is unknown whether {}, which the kernel has attached, is the scheduler of {}: there \
         are no names to compare",
        ops_text(ops),
        container_text(only)
    )
}

pub(super) fn several(kernel: &KernelState<'_>, several: &[&RuntimeContainer]) -> String {
    let attached = match kernel {
        KernelState::Enabled(ops) => format!("it has {} attached", ops_text(*ops)),
        KernelState::InTransition(state) => format!("its state is {:?}", state.as_str()),
        KernelState::Disabled => "it has none attached".to_owned(),
        KernelState::Unsupported => "this one has no sched_ext".to_owned(),
    };
    format!(
        "{} containers of schedctl run, but the kernel attaches one scheduler: {}; {attached}; \
         stop all but one with `schedctl stop ID`",
        several.len(),
        listed(several)
    )
}

pub(super) fn attached_by_sked(pod: &SkedPod) -> String {
    format!(
        "the attached scheduler belongs to sked ({}): change it with {}",
        pod.location(),
        pod.remedy()
    )
}

pub(super) fn other_name_of_sked(pod: &SkedPod, ops: Option<&OpsName>) -> String {
    let evidence = match pod.holds_scheduler {
        Fact::Known(true) => "its process holds a scheduler",
        _ => "no other scheduler is known here",
    };
    format!(
        "the kernel's name for the scheduler of sked's {} is {}: {evidence}",
        pod.location(),
        ops_text(ops)
    )
}

/// One message for each of sked's schedulers that is not attached.
pub(super) fn not_attached<'a>(
    pods: impl Iterator<Item = &'a SkedPod>,
) -> impl Iterator<Item = String> {
    pods.take(MAX_NAMED).map(|pod| {
        format!(
            "sked's {} runs here, but the kernel does not have its scheduler attached: change it \
             with {}",
            pod.location(),
            pod.remedy()
        )
    })
}

/// One message for each container that runs and is not certainly schedctl's.
pub(super) fn unproven(live: &[&RuntimeContainer]) -> impl Iterator<Item = String> {
    let unproven = live.iter().filter(|one| !one.is_ours());
    unproven.take(MAX_NAMED).map(|one| {
        format!(
            "{} was created by an older schedctl or by somebody else: whether its image was \
             verified is unknown, and nothing but {}",
            container_text(one),
            stop_hint(one)
        )
    })
}

pub(super) fn leftovers(left: &[&RuntimeContainer]) -> Option<String> {
    match left {
        [] => None,
        [one] => Some(format!(
            "{} is left over and does not run: {}",
            container_text(one),
            stop_hint(one)
        )),
        several => Some(format!(
            "{} containers of schedctl are left over and do not run: {}; remove them with \
             `schedctl stop ID`",
            several.len(),
            listed(several)
        )),
    }
}

fn listed(all: &[&RuntimeContainer]) -> String {
    let named = all.iter().take(MAX_NAMED);
    let mut names: Vec<String> = named.map(|one| container_text(one)).collect();
    if let Some(more) = all.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// `scx_lavd (podman 0123456789ab)`.
fn container_text(container: &RuntimeContainer) -> String {
    let name = sanitize::brief(&container.scheduler());
    let id = sanitize::brief(container.container.id.short());
    format!("{name} ({} {id})", driver_name(container.runtime))
}

fn stop_hint(container: &RuntimeContainer) -> String {
    let id = sanitize::brief(container.container.id.short());
    let driver = driver_name(container.runtime);
    format!("`schedctl stop {id} -d {driver}` removes it")
}

fn ops_text(ops: Option<&OpsName>) -> String {
    ops.map_or_else(
        || "a scheduler without a name".to_owned(),
        OpsName::to_string,
    )
}
