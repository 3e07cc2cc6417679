//! The kernel's reason for the end of the scheduler.
//!
//! `object.rs` passes the bytes that the BPF program copied in `ops.exit`; `run.rs` prints the result
//! and derives the exit code from it.

use std::{fmt, ops::Range};

use crate::layout;

/// `SCX_ECODE_ACT_RESTART`: the kernel asks the scheduler to come back.
const RESTART: i64 = 1 << 48;

/// What the kernel passed to `ops.exit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExitInfo {
    kind: ExitKind,
    code: i64,
    reason: String,
    message: String,
}

/// `enum scx_exit_kind`, which newer kernels may extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// The loader closed its link.
    Unregistered,
    /// The BPF program called `scx_bpf_exit`.
    UnregisteredByBpf,
    /// The kernel detached it without an error, as on CPU hotplug.
    UnregisteredByKernel,
    SysRq,
    /// A parent scheduler ended.
    Parent,
    RuntimeError,
    /// The BPF program called `scx_bpf_error`.
    ErrorByBpf,
    Stall,
    Unknown(i64),
}

impl ExitInfo {
    /// Reads a `struct lab_exit`; `None` while it is not filled in, or when it is too short to
    /// be one.
    pub(crate) fn parse(record: &[u8]) -> Option<Self> {
        if number(record, layout::EXIT_RECORDED)? == 0 {
            return None;
        }
        Some(Self {
            kind: number(record, layout::EXIT_KIND)?.into(),
            code: number(record, layout::EXIT_CODE)?,
            reason: text(record.get(layout::EXIT_REASON)?),
            message: text(record.get(layout::EXIT_MESSAGE)?),
        })
    }

    /// Whether the scheduler is to attach again. Only an unregistering that it did not start
    /// itself carries an exit code that means anything.
    pub(crate) fn asks_for_restart(&self) -> bool {
        let carries_code = matches!(
            self.kind,
            ExitKind::UnregisteredByBpf | ExitKind::UnregisteredByKernel
        );
        carries_code && self.code & RESTART != 0
    }

    /// Whether it is not an error. As in the scx project, unregistering is none, and everything else,
    /// SysRq included, is one.
    pub(crate) fn is_benign(&self) -> bool {
        matches!(
            self.kind,
            ExitKind::Unregistered | ExitKind::UnregisteredByBpf | ExitKind::UnregisteredByKernel
        )
    }
}

/// The line that operators of scx schedulers look for, without its `EXIT: `.
impl fmt::Display for ExitInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            write!(formatter, "{}", self.reason)
        } else {
            write!(formatter, "{} ({})", self.reason, self.message)
        }
    }
}

impl From<i64> for ExitKind {
    fn from(number: i64) -> Self {
        match number {
            64 => Self::Unregistered,
            65 => Self::UnregisteredByBpf,
            66 => Self::UnregisteredByKernel,
            67 => Self::SysRq,
            68 => Self::Parent,
            1024 => Self::RuntimeError,
            1025 => Self::ErrorByBpf,
            1026 => Self::Stall,
            other => Self::Unknown(other),
        }
    }
}

fn number(record: &[u8], field: Range<usize>) -> Option<i64> {
    Some(i64::from_ne_bytes(record.get(field)?.try_into().ok()?))
}

/// The text up to the first zero byte, on one line: control characters become spaces, and bytes that
/// are not UTF-8 become U+FFFD.
fn text(field: &[u8]) -> String {
    let end = field
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(field.len());
    let field = field.get(..end).unwrap_or(field);
    let text = String::from_utf8_lossy(field).replace(char::is_control, " ");
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(kind: i64, code: i64, reason: &[u8], message: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; layout::EXIT_MESSAGE.end];
        bytes[layout::EXIT_RECORDED].copy_from_slice(&1_i64.to_ne_bytes());
        bytes[layout::EXIT_KIND].copy_from_slice(&kind.to_ne_bytes());
        bytes[layout::EXIT_CODE].copy_from_slice(&code.to_ne_bytes());
        bytes[layout::EXIT_REASON][..reason.len()].copy_from_slice(reason);
        bytes[layout::EXIT_MESSAGE][..message.len()].copy_from_slice(message);
        bytes
    }

    fn line(reason: &[u8], message: &[u8]) -> String {
        ExitInfo::parse(&record(1024, 0, reason, message))
            .unwrap()
            .to_string()
    }

    #[test]
    fn the_line_has_parentheses_only_around_a_message() {
        assert_eq!(
            line(b"unregistered from user space", b""),
            "unregistered from user space"
        );
        assert_eq!(
            line(
                b"runnable task stall",
                b"lab-victim[77] failed to run for 5.012s"
            ),
            "runnable task stall (lab-victim[77] failed to run for 5.012s)"
        );
    }

    #[test]
    fn an_unfilled_or_short_record_is_none() {
        let mut bytes = record(64, 0, b"unregistered from user space", b"");
        assert!(ExitInfo::parse(&bytes[..bytes.len() - 1]).is_none());
        bytes[layout::EXIT_RECORDED].fill(0);
        assert!(ExitInfo::parse(&bytes).is_none());
        assert!(ExitInfo::parse(&[]).is_none());
    }

    #[test]
    fn only_unregistering_is_benign() {
        for (kind, benign) in [
            (64, true),
            (65, true),
            (66, true),
            (67, false),
            (68, false),
            (1024, false),
            (1025, false),
            (1026, false),
            (-1, false),
            (0, false),
        ] {
            let info = ExitInfo::parse(&record(kind, 0, b"r", b"")).unwrap();
            assert_eq!(info.is_benign(), benign, "{kind}");
        }
    }

    #[test]
    fn hotplug_asks_for_a_restart_and_nothing_else_does() {
        let hotplug = (1 << 48) | (1 << 32);
        for (kind, code, asks) in [
            (66, hotplug, true),
            (66, 0, false),
            (65, 42, false),
            (64, hotplug, false),
            (1024, hotplug, false),
        ] {
            let info = ExitInfo::parse(&record(kind, code, b"r", b"")).unwrap();
            assert_eq!(info.asks_for_restart(), asks, "{kind} {code}");
        }
    }

    #[test]
    fn hostile_text_stays_one_line() {
        assert_eq!(
            line(&[0xff; 128], b"a\nb\x1b[31m\t\n"),
            format!("{} (a b [31m)", "\u{fffd}".repeat(128))
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_into_one_line(
            bytes in proptest::collection::vec(any::<u8>(), 0..1300),
        ) {
            if let Some(info) = ExitInfo::parse(&bytes) {
                prop_assert!(!info.to_string().contains(char::is_control));
            }
        }
    }
}
