//! Checks of what lives beside a scheduler: processors set apart, other managers, a scheduler
//! that is attached already. None of it blocks; all of it explains surprises.

use crate::command_line::CommandLine;
use crate::fact::Fact;
use crate::preflight::{Requirements, Verdict};
use crate::rivals::Rival;
use crate::sched_ext::State;
use crate::snapshot::HostSnapshot;

pub(super) fn isolcpus(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    parameter(
        &snapshot.command_line,
        |line| line.isolcpus.as_deref(),
        "isolcpus",
        "use a scheduler that leaves isolated processors alone, or drop isolcpus= from the kernel's command line",
    )
}

pub(super) fn nohz_full(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    parameter(
        &snapshot.command_line,
        |line| line.nohz_full.as_deref(),
        "nohz_full",
        "use a scheduler that knows of tickless processors, or drop nohz_full= from the kernel's command line",
    )
}

pub(super) fn rivals(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    if snapshot.rivals.is_empty() {
        return Verdict::pass("nobody seen");
    }
    let names: Vec<String> = snapshot.rivals.iter().map(name).collect();
    Verdict::fail(
        format!(
            "{}: may attach or detach a scheduler at any time",
            names.join(", ")
        ),
        "let one manager do it: run `systemctl disable --now scx.service scx_loader.service`, or leave schedulers to it",
    )
}

pub(super) fn attached(snapshot: &HostSnapshot, _: &Requirements) -> Verdict {
    let Fact::Known(sched_ext) = &snapshot.sched_ext else {
        return Verdict::skip("the kernel shows no sched_ext");
    };
    match &sched_ext.state {
        Fact::Known(State::Disabled) => Verdict::pass("none is"),
        Fact::Known(State::Enabled) => Verdict::fail(
            match sched_ext.attached() {
                Some(ops) => format!("{ops} is attached"),
                None => "one is attached that shows no name".to_owned(),
            },
            "`schedctl status` says whose it is; use `schedctl switch` to replace it, or stop it first",
        ),
        Fact::Known(State::Prepping | State::Enabling | State::Disabling) => {
            Verdict::skip("one is being attached or detached right now")
        }
        Fact::Known(State::Unknown(word)) => {
            Verdict::skip(format!("the kernel calls its state {word:?}"))
        }
        unknown => Verdict::Skip(format!(
            "/sys/kernel/sched_ext/state {}",
            unknown.trouble().unwrap_or_default()
        )),
    }
}

fn parameter(
    line: &Fact<CommandLine>,
    value: fn(&CommandLine) -> Option<&str>,
    name: &str,
    remedy: &str,
) -> Verdict {
    match line {
        Fact::Known(line) => match value(line) {
            None => Verdict::pass(format!("no {name} on the kernel's command line")),
            Some(processors) => Verdict::fail(
                format!("{name}={processors}: most schedulers use these processors all the same"),
                remedy,
            ),
        },
        unknown => Verdict::Skip(format!(
            "/proc/cmdline {}",
            unknown.trouble().unwrap_or_default()
        )),
    }
}

fn name(rival: &Rival) -> String {
    match rival {
        Rival::Process { pid, name } => format!("{name} (pid {pid})"),
        Rival::Service { name } => (*name).to_owned(),
    }
}
