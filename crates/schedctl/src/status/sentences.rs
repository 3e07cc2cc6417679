//! How our view and the kernel's differ, in one sentence each: what is, what it may come from,
//! what to do. Everything quoted is made fit to print.

use schedkit_core::{OpsName, sanitize};
use schedkit_host::{Fact, SchedExtState};

use super::{Held, Kernel, scheduler_of};
use crate::runtimes::name_of;
use crate::sked::SkedPod;

/// More are counted and not named.
const MOST: usize = 8;

pub(super) fn orphaned(ops: Option<&OpsName>) -> String {
    let ops = named(ops);
    format!(
        "the kernel has {ops} attached, and no container of ours runs: somebody else started it \
         (scx_loader, a service, a person); stop it where it was started, or detach it with \
         `schedctl detach --force`"
    )
}

pub(super) fn strange_motion(state: &SchedExtState) -> String {
    format!(
        "the kernel says {:?}, and no container of ours runs: somebody else attaches or detaches \
         a scheduler; ask again in a moment",
        state.as_str()
    )
}

pub(super) fn unsupported(only: &Held) -> String {
    format!(
        "{} runs, and this kernel has no sched_ext: `schedctl doctor` says what is missing, {}",
        held(only),
        end(only)
    )
}

pub(super) fn detached(only: &Held) -> String {
    let id = only.container.id.short();
    format!(
        "{} runs, and the kernel has no scheduler attached: it is still starting, or the kernel \
         has thrown it out; `schedctl logs {id}` shows its last words, {}",
        held(only),
        end(only)
    )
}

pub(super) fn still_moving(only: &Held, state: &SchedExtState) -> String {
    format!(
        "{} runs, and the kernel still says {:?}: ask again in a moment; if it stays so, {}",
        held(only),
        state.as_str(),
        end(only)
    )
}

pub(super) fn mismatch(only: &Held, ops: Option<&OpsName>, holds: &Fact<bool>) -> String {
    let evidence = match holds {
        Fact::Known(false) => "holds no scheduler".to_owned(),
        Fact::Known(true) => "holds one".to_owned(),
        unseen => format!(
            "could not be looked at ({}), so only the names tell",
            unseen.problem().unwrap_or_default()
        ),
    };
    format!(
        "{} runs, and the kernel has {} attached, which is another scheduler: the container's \
         process {evidence}; {}, or stop the other one where it was started",
        held(only),
        named(ops),
        end(only)
    )
}

pub(super) fn other_name(only: &Held, ops: Option<&OpsName>) -> String {
    format!(
        "the kernel calls the scheduler of {} {}: it names itself so; its process holds a \
         scheduler, and the kernel takes one",
        held(only),
        named(ops)
    )
}

pub(super) fn nothing_to_compare(only: &Held, ops: Option<&OpsName>) -> String {
    format!(
        "nothing tells whether {}, which the kernel has attached, is the scheduler of {}",
        named(ops),
        held(only)
    )
}

pub(super) fn several(kernel: &Kernel<'_>, several: &[&Held]) -> String {
    let attached = match kernel {
        Kernel::Enabled(ops) => format!("it has {} attached", named(*ops)),
        Kernel::Moving(state) => format!("it says {:?}", state.as_str()),
        Kernel::Disabled => "it has none attached".to_owned(),
        Kernel::Unsupported => "this one has no sched_ext".to_owned(),
    };
    format!(
        "{} containers of ours run, and the kernel takes one scheduler: {}; {attached}; end all \
         but one with `schedctl stop ID`",
        several.len(),
        listed(several)
    )
}

pub(super) fn sked_has_it(pod: &SkedPod) -> String {
    format!(
        "what the kernel has attached is sked's ({}): {} is where it is changed",
        pod.whose(),
        pod.remedy()
    )
}

pub(super) fn other_name_of_sked(pod: &SkedPod, ops: Option<&OpsName>) -> String {
    let evidence = match pod.holds {
        Fact::Known(true) => "its process holds a scheduler",
        _ => "nothing else runs one here as far as can be seen",
    };
    format!(
        "the kernel calls the scheduler of sked's {} {}: {evidence}",
        pod.whose(),
        named(ops)
    )
}

/// One sentence for each of sked's that the kernel does not run.
pub(super) fn not_attached<'a>(
    pods: impl Iterator<Item = &'a SkedPod>,
) -> impl Iterator<Item = String> {
    pods.take(MOST).map(|pod| {
        format!(
            "sked's {} runs here, and the kernel does not have its scheduler attached: {} is where \
             it is changed",
            pod.whose(),
            pod.remedy()
        )
    })
}

/// Nothing when there is none.
pub(super) fn leftovers(left: &[&Held]) -> Option<String> {
    match left {
        [] => None,
        [one] => Some(format!(
            "{} is left over and does not run: {}",
            held(one),
            end(one)
        )),
        several => Some(format!(
            "{} containers of ours are left over and do not run: {}; remove them with `schedctl \
             stop ID`",
            several.len(),
            listed(several)
        )),
    }
}

fn listed(all: &[&Held]) -> String {
    let mut names: Vec<String> = all.iter().take(MOST).map(|one| held(one)).collect();
    if let Some(more) = all.len().checked_sub(MOST).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// `scx_lavd (podman 0123456789ab)`.
fn held(held: &Held) -> String {
    let name = sanitize::brief(&scheduler_of(&held.container));
    let id = sanitize::brief(held.container.id.short());
    format!("{name} ({} {id})", name_of(held.runtime))
}

fn end(held: &Held) -> String {
    let id = sanitize::brief(held.container.id.short());
    let driver = name_of(held.runtime);
    format!("`schedctl stop {id} -d {driver}` removes it")
}

fn named(ops: Option<&OpsName>) -> String {
    ops.map_or_else(
        || "a scheduler without a name".to_owned(),
        OpsName::to_string,
    )
}
