//! Checks of what may conflict with a scheduler: isolated CPUs, other managers, a scheduler that is
//! already attached. None of them blocks.

use super::outcome::Outcome;
use super::requirements::Requirements;
use crate::command_line::CommandLine;
use crate::fact::Fact;
use crate::other_managers::OtherManager;
use crate::sched_ext::SchedExtState;
use crate::snapshot::HostSnapshot;

pub(super) fn isolcpus(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    parameter(
        &snapshot.command_line,
        |line| line.isolcpus.as_deref(),
        "isolcpus",
        "use a scheduler that leaves isolated processors alone, or remove isolcpus= from the kernel's command line",
    )
}

pub(super) fn nohz_full(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    parameter(
        &snapshot.command_line,
        |line| line.nohz_full.as_deref(),
        "nohz_full",
        "use a scheduler that supports tickless processors, or remove nohz_full= from the kernel's command line",
    )
}

pub(super) fn other_managers(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    if snapshot.other_managers.is_empty() {
        return Outcome::pass("no other scheduler manager was found");
    }
    let names: Vec<String> = snapshot.other_managers.iter().map(name).collect();
    Outcome::fail(
        format!(
            "{}: may attach or detach a scheduler at any time",
            names.join(", ")
        ),
        "use one manager only: run `systemctl disable --now scx.service scx_loader.service`, or leave schedulers to it",
    )
}

pub(super) fn attached(snapshot: &HostSnapshot, _: &Requirements) -> Outcome {
    let Fact::Known(sched_ext) = &snapshot.sched_ext else {
        return Outcome::skip("the kernel has no sched_ext");
    };
    match &sched_ext.state {
        Fact::Known(SchedExtState::Disabled) => Outcome::pass("no scheduler is attached"),
        Fact::Known(SchedExtState::Enabled) => Outcome::fail(
            match sched_ext.attached() {
                Some(ops) => format!("{ops} is attached"),
                None => "a scheduler without a name is attached".to_owned(),
            },
            "`schedctl status` says whose it is; use `schedctl switch` to replace it, or stop it first",
        ),
        Fact::Known(
            SchedExtState::Prepping | SchedExtState::Enabling | SchedExtState::Disabling,
        ) => Outcome::skip("a scheduler is being attached or detached right now"),
        Fact::Known(SchedExtState::Unknown(text)) => {
            Outcome::skip(format!("the kernel calls its state {text:?}"))
        }
        unknown => Outcome::skip_unknown("/sys/kernel/sched_ext/state", unknown),
    }
}

fn parameter(
    line: &Fact<CommandLine>,
    value: fn(&CommandLine) -> Option<&str>,
    name: &str,
    remedy: &str,
) -> Outcome {
    match line {
        Fact::Known(line) => match value(line) {
            None => Outcome::pass(format!("no {name} on the kernel's command line")),
            Some(processors) => Outcome::fail(
                format!("{name}={processors}: most schedulers use these processors all the same"),
                remedy,
            ),
        },
        unknown => Outcome::skip_unknown("/proc/cmdline", unknown),
    }
}

fn name(manager: &OtherManager) -> String {
    match manager {
        OtherManager::Process { pid, name } => format!("{name} (pid {pid})"),
        OtherManager::Service { name } => (*name).to_owned(),
    }
}
