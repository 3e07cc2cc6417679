//! Why a scheduler exited, parsed from the last lines of its output or from the kernel log.
//!
//! ```text
//! EXIT: runnable task stall (stress[412] failed to run for 30.2s) on CPU 1
//!       └── reason ───────┘  └── message ──────────────────────┘
//! ```
//!
//! Used by `schedctl run` and sked's status. The recognized messages are the kernel's, libbpf's and
//! the scx project's; any other text becomes [`ExitReason::Unknown`].

mod load_failure;
mod panic;

use std::fmt;

use serde::{Serialize, Serializer};

pub use load_failure::LoadFailure;
pub use panic::meaningful_lines;

use crate::sanitize;

/// Only so many bytes at the end of an output are parsed.
const MAX_OUTPUT: usize = 256 * 1024;
const MARK: &str = "EXIT: ";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExitReason {
    /// A runnable task was not scheduled before the watchdog's timeout.
    Stall,
    /// The kernel detected an invalid operation of the scheduler.
    RuntimeError,
    /// The scheduler's BPF program called `scx_bpf_error`.
    BpfError,
    /// Somebody used SysRq-S.
    SysRq,
    /// A CPU went online or offline: the scheduler has to be restarted.
    Hotplug,
    /// The scheduler's process detached it, as on SIGTERM.
    Unregistered,
    /// The scheduler's BPF program called `scx_bpf_exit`.
    UnregisteredByBpf,
    /// The kernel detached it without an error.
    UnregisteredByKernel,
    /// The parent scheduler, under which it was attached, exited.
    ParentExiting,
    /// It was never attached.
    LoadFailed(LoadFailure),
    /// Its program panicked, with this message, shortened and printable.
    Panicked(String),
    /// The kernel killed its process because memory was short. No output shows it: who saw the process
    /// end knows.
    OutOfMemory,
    /// An unrecognized text, shortened and printable.
    Unknown(String),
}

/// How a scheduler exited, as far as its output shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SchedulerExit {
    pub reason: ExitReason,
    /// The line that has the reason, or the part of it in parentheses; shortened and printable.
    pub message: String,
}

impl SchedulerExit {
    /// Parses a scheduler's output; `None` when it is empty. The latest line with a reason counts: a
    /// scheduler that restarted after a hotplug has printed more than one. A panic counts when there is
    /// no reason, or when the process went on after it.
    pub fn parse(output: &str) -> Option<Self> {
        let lines = panic::blank_noise(tail(output).lines());
        let panic = panic::latest(&lines);
        let recognized = (0..lines.len())
            .rev()
            .find_map(|at| Some((at, recognize(&lines[..=at])?)));
        let restarted = panic.as_ref().map_or(0, |panic| panic.line);
        recognized
            .filter(|(at, exit)| *at >= restarted || !exit.reason.is_benign())
            .map(|(_, exit)| exit)
            .or_else(|| {
                Some(Self {
                    message: sanitize::brief(&load_failure::unexplained(&lines)?),
                    reason: ExitReason::LoadFailed(LoadFailure::Unexplained),
                })
            })
            .or_else(|| {
                let message = sanitize::brief(&panic?.message);
                let reason = ExitReason::Panicked(message.clone());
                Some(Self { reason, message })
            })
            .or_else(|| {
                let last = lines.iter().rev().find(|line| !line.trim().is_empty())?;
                let message = sanitize::brief(last);
                let reason = ExitReason::Unknown(message.clone());
                Some(Self { reason, message })
            })
    }
}

impl ExitReason {
    /// From the kernel's reason, as in its log or after `EXIT: `, and the message that it adds.
    pub fn from_kernel(reason: &str, message: &str) -> Self {
        match reason {
            "runnable task stall" => Self::Stall,
            "runtime error" => Self::RuntimeError,
            "scx_bpf_error" => Self::BpfError,
            "disabled by sysrq-S" => Self::SysRq,
            "unregistered from user space" => Self::Unregistered,
            "unregistered from BPF" => Self::UnregisteredByBpf,
            "unregistered from the main kernel" if is_hotplug(message) => Self::Hotplug,
            "unregistered from the main kernel" => Self::UnregisteredByKernel,
            "parent exiting" => Self::ParentExiting,
            other => Self::Unknown(sanitize::brief(other)),
        }
    }

    /// The stable name for machines, such as `Stall` or `LoadFailedBusy`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stall => "Stall",
            Self::RuntimeError => "RuntimeError",
            Self::BpfError => "BpfError",
            Self::SysRq => "SysRq",
            Self::Hotplug => "Hotplug",
            Self::Unregistered => "Unregistered",
            Self::UnregisteredByBpf => "UnregisteredByBpf",
            Self::UnregisteredByKernel => "UnregisteredByKernel",
            Self::ParentExiting => "ParentExiting",
            Self::LoadFailed(failure) => failure.as_str(),
            Self::Panicked(_) => "Panicked",
            Self::OutOfMemory => "OutOfMemory",
            Self::Unknown(_) => "Unknown",
        }
    }

    /// Whether the exit was no failure.
    pub fn is_benign(&self) -> bool {
        match self {
            Self::Hotplug
            | Self::Unregistered
            | Self::UnregisteredByBpf
            | Self::UnregisteredByKernel => true,
            Self::Stall
            | Self::RuntimeError
            | Self::BpfError
            | Self::SysRq
            | Self::ParentExiting
            | Self::LoadFailed(_)
            | Self::Panicked(_)
            | Self::OutOfMemory
            | Self::Unknown(_) => false,
        }
    }

    /// Whether the kernel ejected it while it was attached.
    pub fn is_ejection(&self) -> bool {
        match self {
            Self::Stall
            | Self::RuntimeError
            | Self::BpfError
            | Self::SysRq
            | Self::ParentExiting => true,
            Self::Hotplug
            | Self::Unregistered
            | Self::UnregisteredByBpf
            | Self::UnregisteredByKernel
            | Self::LoadFailed(_)
            | Self::Panicked(_)
            | Self::OutOfMemory
            | Self::Unknown(_) => false,
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Stall => Some(
                "use another version or other arguments of this scheduler, and report the stall \
                 to its authors: the kernel log has the dump",
            ),
            Self::RuntimeError | Self::BpfError => {
                Some("use another version of this scheduler, and report the message to its authors")
            }
            Self::SysRq => Some("find out who used SysRq-S and why, then start it again"),
            Self::Hotplug => Some("start it again: a CPU went online or offline"),
            Self::ParentExiting => Some("start the scheduler that it was attached under first"),
            Self::LoadFailed(failure) => Some(failure.remedy()),
            Self::Panicked(_) => {
                Some("use another version of this scheduler, and report the panic to its authors")
            }
            Self::OutOfMemory => Some(
                "free memory or add some, then start it again: the kernel log (`dmesg`) shows what \
                 used it",
            ),
            Self::Unregistered
            | Self::UnregisteredByBpf
            | Self::UnregisteredByKernel
            | Self::Unknown(_) => None,
        }
    }
}

/// A clause whose subject is the scheduler: "it was detached by SysRq-S".
impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stall => "it did not run a task in time, so the kernel ejected it",
            Self::RuntimeError => "the kernel found an error in it and ejected it",
            Self::BpfError => "its BPF program reported an error, so the kernel ejected it",
            Self::SysRq => "it was detached by SysRq-S",
            Self::Hotplug => "it detached because a CPU went online or offline",
            Self::Unregistered => "it detached itself",
            Self::UnregisteredByBpf => "its BPF program detached it",
            Self::UnregisteredByKernel => "the kernel detached it",
            Self::ParentExiting => "the scheduler that it was attached under exited",
            Self::LoadFailed(failure) => failure.description(),
            Self::Panicked(message) => return write!(f, "it panicked: {message}"),
            Self::OutOfMemory => "the kernel killed it because memory was short",
            Self::Unknown(text) => return write!(f, "it exited with: {text}"),
        })
    }
}

impl Serialize for ExitReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The reason in the last of these lines, if it has one.
fn recognize(lines: &[&str]) -> Option<SchedulerExit> {
    let line = lines.last()?;
    exit_line(line).or_else(|| {
        let failure = LoadFailure::from_line(line)?;
        Some(SchedulerExit {
            reason: ExitReason::LoadFailed(failure),
            message: sanitize::brief(failure.verifier_message(lines).unwrap_or(line)),
        })
    })
}

/// `EXIT: ` counts at the beginning of a line and after a logger's prefix, not inside a word.
fn exit_line(line: &str) -> Option<SchedulerExit> {
    let at = line.find(MARK)?;
    if !(at == 0 || line[..at].ends_with(' ')) {
        return None;
    }
    let text = line[at + MARK.len()..].trim();
    let (reason, message) = match text.split_once(" (") {
        Some((reason, rest)) => (
            reason,
            rest.rsplit_once(')').map_or(rest, |(inside, _)| inside),
        ),
        None => (text.split(" on CPU ").next().unwrap_or(text), ""),
    };
    Some(SchedulerExit {
        reason: ExitReason::from_kernel(reason.trim(), message),
        message: sanitize::brief(message),
    })
}

/// The kernel writes `cpu 1 going offline, exiting scheduler`.
fn is_hotplug(message: &str) -> bool {
    let Some(rest) = message.strip_prefix("cpu ") else {
        return false;
    };
    let rest = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    rest.starts_with(" going online") || rest.starts_with(" going offline")
}

fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MAX_OUTPUT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests;
