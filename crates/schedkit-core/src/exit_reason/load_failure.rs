//! Why a scheduler was never attached, from the output of libbpf and of the loaders.
//!
//! Only `exit_reason` calls it. One line is parsed at a time; a line that has many possible causes
//! ("failed to load object", "Invalid argument") is not recognized.

/// Why loading or attaching failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadFailure {
    /// The kernel's verifier rejected the BPF program.
    Verifier,
    /// libbpf found no kernel configuration to read.
    Kconfig,
    /// The kernel's BTF is missing or unusable.
    Btf,
    /// Another scheduler is attached (EBUSY).
    Busy,
    /// The kernel lacks a function or type that the scheduler uses.
    KernelFunction,
    /// The kernel has no sched_ext, or an older one than the scheduler needs.
    KernelTooOld,
    /// The process may not load BPF programs (EPERM).
    Permission,
    /// The process sees neither tracefs nor debugfs.
    Tracefs,
    /// The kernel had no memory for the BPF program or its maps (ENOMEM).
    Memory,
    /// It could not be loaded or attached, and the scheduler does not print libbpf's reason, as those
    /// of the scx project do not without `--verbose`.
    Unexplained,
}

const LOG_BEGIN: &str = "-- BEGIN PROG LOAD LOG --";
const LOG_END: &str = "-- END PROG LOAD LOG --";

/// Texts by which a line is recognized. The order counts: a line of the verifier that ends in EPERM
/// is about permission, and one about a missing function also mentions BTF.
const MARKS: &[(LoadFailure, &[&str])] = &[
    (
        LoadFailure::Busy,
        &[
            "another sched_ext scheduler is already running",
            "Device or resource busy",
            "-EBUSY",
            "(os error 16)",
        ],
    ),
    (
        LoadFailure::Permission,
        &[
            "Operation not permitted",
            "-EPERM",
            "(os error 1)",
            "needs the capabilities CAP_BPF",
        ],
    ),
    (
        LoadFailure::Tracefs,
        &["No tracefs mount found", "No debugfs mount found"],
    ),
    (
        LoadFailure::Memory,
        &["Cannot allocate memory", "-ENOMEM", "(os error 12)"],
    ),
    (
        LoadFailure::Kconfig,
        &[
            "failed to open system Kconfig",
            "error parsing system Kconfig",
        ],
    ),
    (
        LoadFailure::KernelFunction,
        &[
            "not found in kernel or module BTFs",
            "(strong): not resolved",
            "is not found in vmlinux BTF",
        ],
    ),
    (
        LoadFailure::KernelTooOld,
        &["is not found in kernel BTF", "kernel too old"],
    ),
    (
        LoadFailure::Btf,
        &[
            "kernel BTF is missing",
            "failed to find valid kernel BTF",
            "Error loading vmlinux BTF",
            "vmlinux BTF is not found",
            "shows no BTF",
        ],
    ),
    (LoadFailure::Verifier, &[LOG_END, "BPF program load failed"]),
];

/// What the scx project's schedulers print before a cause that is not specific.
const UNEXPLAINED: &[&str] = &[
    "Failed to load BPF program",
    "Failed to attach struct ops",
    "Failed to attach non-struct_ops BPF programs",
];

/// A failure without a specific reason: its last line, with the last of its causes. Used only when no
/// line has a reason.
pub(super) fn unexplained(lines: &[&str]) -> Option<String> {
    let is_failure = |line: &&str| UNEXPLAINED.iter().any(|mark| line.contains(mark));
    let at = lines.iter().rposition(is_failure)?;
    let line = lines[at].trim();
    let causes = lines[at + 1..]
        .iter()
        .skip_while(|line| **line != "Caused by:")
        .skip(1)
        .take_while(|line| line.starts_with("    "));
    Some(match causes.last() {
        Some(cause) => format!("{line}: {}", cause.trim()),
        None => line.to_owned(),
    })
}

impl LoadFailure {
    pub(super) fn from_line(line: &str) -> Option<Self> {
        let matches = |marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
        MARKS
            .iter()
            .find(|(_, marks)| matches(marks))
            .map(|(failure, _)| *failure)
    }

    /// The line that has the verifier's reason: the one before its statistics.
    pub(super) fn verifier_message<'a>(self, lines: &[&'a str]) -> Option<&'a str> {
        let (last, before) = lines.split_last()?;
        if self != Self::Verifier || !last.contains(LOG_END) {
            return None;
        }
        let lines = before.iter().rev().copied();
        lines
            .take_while(|line| !line.contains(LOG_BEGIN))
            .find(|line| !line.starts_with("processed ") && !line.trim().is_empty())
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Verifier => "LoadFailedVerifier",
            Self::Kconfig => "LoadFailedKconfig",
            Self::Btf => "LoadFailedBtf",
            Self::Busy => "LoadFailedBusy",
            Self::KernelFunction => "LoadFailedKernelFunction",
            Self::KernelTooOld => "LoadFailedKernelTooOld",
            Self::Permission => "LoadFailedPermission",
            Self::Tracefs => "LoadFailedTracefs",
            Self::Memory => "LoadFailedMemory",
            Self::Unexplained => "LoadFailedUnexplained",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Verifier => "the kernel's verifier refused its BPF program",
            Self::Kconfig => "it found no kernel configuration to read",
            Self::Btf => "it found no usable BTF of this kernel",
            Self::Busy => "another scheduler is attached",
            Self::KernelFunction => "this kernel lacks a function that it calls",
            Self::KernelTooOld => "this kernel is too old for it",
            Self::Permission => "it was not allowed to load BPF programs",
            Self::Tracefs => "it found neither tracefs nor debugfs",
            Self::Memory => "the kernel had no memory for its BPF program",
            Self::Unexplained => "it could not load its BPF program and did not print a reason",
        }
    }

    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Verifier => {
                "use a version of the scheduler that was made for this kernel, or another kernel"
            }
            Self::Kconfig => {
                "make /proc/config.gz (CONFIG_IKCONFIG_PROC=y) or /boot/config-RELEASE of the \
                 running kernel readable in the container"
            }
            Self::Btf => {
                "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, and make sure that \
                 /sys/kernel/btf/vmlinux is there"
            }
            Self::Busy => "stop the scheduler that is attached first, or switch from it",
            Self::KernelFunction => {
                "use a version of the scheduler that was made for this kernel, or a newer kernel"
            }
            Self::KernelTooOld => {
                "boot a newer kernel that has CONFIG_SCHED_CLASS_EXT=y, or use an older version of \
                 the scheduler"
            }
            Self::Permission => "run it as root, in a privileged container",
            Self::Tracefs => {
                "mount both on this machine, `mount -t tracefs tracefs /sys/kernel/tracing` and \
                 `mount -t debugfs debugfs /sys/kernel/debug`, then start it again"
            }
            Self::Memory => "free memory or add some, then start it again",
            Self::Unexplained => {
                "start it with its own flag for more output, in most cases `--verbose`: libbpf then \
                 prints the reason; an `Invalid argument` mostly means that no kernel configuration \
                 can be read in the container, /proc/config.gz or /boot/config-RELEASE"
            }
        }
    }
}
