//! Why a scheduler is gone, typed, from the last words that it or the kernel said.
//!
//! ```text
//! EXIT: runnable task stall (stress[412] failed to run for 30.2s) on CPU 1
//!       └── reason ───────┘  └── message ──────────────────────┘
//! ```
//!
//! `schedctl run` and sked's status ask here. The texts are the kernel's, libbpf's and the scx
//! project's; what is not among them stays what it is, as [`ExitReason::Unknown`].

mod load_failure;

use std::fmt;

use serde::{Serialize, Serializer};

pub use load_failure::LoadFailure;

use crate::foreign;

/// Last words are read from their end; what lies further back than this is not looked at.
const LONGEST: usize = 256 * 1024;
const MARK: &str = "EXIT: ";

/// Why a scheduler is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// A task that could run did not get to run before the watchdog's time was up.
    Stall,
    /// The scheduler broke one of the kernel's rules.
    RuntimeError,
    /// The scheduler's own BPF program gave up.
    BpfError,
    /// Somebody pulled the brake: SysRq-S.
    SysRq,
    /// A processor came or went; nobody is to blame, and a restart is asked for.
    Hotplug,
    /// It let go by itself, as on SIGTERM.
    Unregistered,
    /// Its BPF program let go.
    UnregisteredByBpf,
    /// The kernel let go of it without blame.
    UnregisteredByKernel,
    /// The scheduler that it was attached under went and took it along.
    ParentExiting,
    /// It never got as far as scheduling.
    LoadFailed(LoadFailure),
    /// Words that we do not know, brief and printable.
    Unknown(String),
}

/// What a scheduler said last, understood as far as it can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWords {
    /// Why it is gone.
    pub reason: ExitReason,
    /// The line that says so, or the part of it in parentheses; brief and printable.
    pub message: String,
}

impl LastWords {
    /// Reads a scheduler's output; nothing when it said nothing. The latest line that tells a
    /// reason counts, for a scheduler that came back after a hotplug tells more than one.
    pub fn parse(output: &str) -> Option<Self> {
        let lines: Vec<&str> = tail(output).lines().collect();
        let told = (0..lines.len())
            .rev()
            .find_map(|at| understand(&lines[..=at]));
        told.or_else(|| {
            Some(Self {
                message: foreign::brief(&load_failure::unexplained(&lines)?),
                reason: ExitReason::LoadFailed(LoadFailure::Unexplained),
            })
        })
        .or_else(|| {
            let last = lines.iter().rev().find(|line| !line.trim().is_empty())?;
            let message = foreign::brief(last);
            let reason = ExitReason::Unknown(message.clone());
            Some(Self { reason, message })
        })
    }
}

impl ExitReason {
    /// From the kernel's words, as in its log or after `EXIT: `; `message` is what it adds.
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
            other => Self::Unknown(foreign::brief(other)),
        }
    }

    /// One word for machines, such as `Stall` or `LoadFailed`.
    pub fn word(&self) -> &'static str {
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
            Self::LoadFailed(failure) => failure.word(),
            Self::Unknown(_) => "Unknown",
        }
    }

    /// Whether nobody and nothing failed.
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
            | Self::Unknown(_) => false,
        }
    }

    /// Whether the kernel threw it out while it was attached.
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
            | Self::Unknown(_) => false,
        }
    }

    /// What to do about it, where something can be done.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Stall => Some(
                "use another version or other arguments of this scheduler, and report the stall \
                 to its authors: the kernel log has the dump",
            ),
            Self::RuntimeError | Self::BpfError => {
                Some("use another version of this scheduler, and report the message to its authors")
            }
            Self::SysRq => Some("start it again once whoever pressed SysRq-S is content"),
            Self::Hotplug => Some("start it again: a processor came or went"),
            Self::ParentExiting => Some("start the scheduler that it was attached under first"),
            Self::LoadFailed(failure) => Some(failure.remedy()),
            Self::Unregistered
            | Self::UnregisteredByBpf
            | Self::UnregisteredByKernel
            | Self::Unknown(_) => None,
        }
    }
}

/// Half a sentence: what the scheduler did or suffered.
impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stall => "it left a task waiting, so the kernel ejected it",
            Self::RuntimeError => "it broke a rule of the kernel, which ejected it",
            Self::BpfError => "its BPF program reported an error, so the kernel ejected it",
            Self::SysRq => "it was detached by SysRq-S",
            Self::Hotplug => "it let go because a processor came or went",
            Self::Unregistered => "it let go by itself",
            Self::UnregisteredByBpf => "its BPF program let go",
            Self::UnregisteredByKernel => "the kernel let go of it",
            Self::ParentExiting => "the scheduler that it was attached under went away",
            Self::LoadFailed(failure) => failure.sentence(),
            Self::Unknown(text) => return write!(f, "it ended with: {text}"),
        })
    }
}

impl Serialize for ExitReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// What the last of these lines tells, if it tells a reason.
fn understand(lines: &[&str]) -> Option<LastWords> {
    let line = lines.last()?;
    exit_line(line).or_else(|| {
        let failure = LoadFailure::from_line(line)?;
        Some(LastWords {
            reason: ExitReason::LoadFailed(failure),
            message: foreign::brief(failure.complaint(lines).unwrap_or(line)),
        })
    })
}

/// `EXIT: ` begins a line or follows a logger's prefix; inside a word it means nothing.
fn exit_line(line: &str) -> Option<LastWords> {
    let at = line.find(MARK)?;
    if !(at == 0 || line[..at].ends_with(' ')) {
        return None;
    }
    let words = line[at + MARK.len()..].trim();
    let (reason, message) = match words.split_once(" (") {
        Some((reason, rest)) => (
            reason,
            rest.rsplit_once(')').map_or(rest, |(inside, _)| inside),
        ),
        None => (words.split(" on CPU ").next().unwrap_or(words), ""),
    };
    Some(LastWords {
        reason: ExitReason::from_kernel(reason.trim(), message),
        message: foreign::brief(message),
    })
}

/// The kernel says `cpu 1 going offline, exiting scheduler`.
fn is_hotplug(message: &str) -> bool {
    let Some(rest) = message.strip_prefix("cpu ") else {
        return false;
    };
    let rest = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    rest.starts_with(" going online") || rest.starts_with(" going offline")
}

fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(LONGEST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests;
