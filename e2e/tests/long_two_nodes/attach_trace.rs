//! Every attach that a node's kernel was asked for, with its result, as the kernel traces it.
//!
//! The kernel logs nothing when it rejects a second scheduler: the caller gets EBUSY. So a kprobe
//! records what the function returns that every attach goes through.

use std::collections::BTreeSet;

use lab::Node;

const TRACING: &str = "/sys/kernel/tracing";
const PROBE: &str = "lab_attach";
/// `EBUSY`, as the kernel returns it.
const BUSY: i32 = -16;

/// The results of a kernel's attaches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attaches {
    pub(crate) attached: u64,
    /// Rejected because another one was attached.
    pub(crate) busy: u64,
    /// The other error codes.
    pub(crate) failed: Vec<i32>,
}

/// From now on the kernel traces each attach.
pub(crate) fn start(node: &Node<'_>) {
    let probe = format!("r:{PROBE} bpf_scx_reg result=$retval:s32");
    let script = format!(
        "mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}; \
         echo '{probe}' >{TRACING}/kprobe_events && echo 1 >{TRACING}/events/kprobes/{PROBE}/enable"
    );
    node.must(&script).unwrap();
}

impl Attaches {
    /// All that were traced so far.
    pub(crate) fn of(node: &Node<'_>) -> Self {
        Self::parse(&node.must(&format!("cat {TRACING}/trace")).unwrap())
    }

    fn parse(trace: &str) -> Self {
        let mut all = Self::default();
        let traced = trace.lines().filter(|line| line.contains(PROBE));
        for (_, result) in traced.filter_map(|line| line.rsplit_once("result=")) {
            match result.trim().parse().unwrap() {
                0 => all.attached += 1,
                BUSY => all.busy += 1,
                other => all.failed.push(other),
            }
        }
        all
    }
}

/// How many schedulers the kernel has attached since it started, by its own count.
pub(crate) fn count(node: &Node<'_>) -> u64 {
    let count = node.must("cat /sys/kernel/sched_ext/enable_seq").unwrap();
    count.parse().unwrap()
}

/// The names of all that were attached, from its log.
pub(crate) fn names(node: &Node<'_>) -> BTreeSet<String> {
    let lines = node.kernel_log().unwrap();
    let name = |text: &str| {
        let (_, rest) = text.split_once("sched_ext: BPF scheduler \"")?;
        let (name, rest) = rest.split_once('"')?;
        (rest.trim() == "enabled").then(|| name.to_owned())
    };
    lines.iter().filter_map(|line| name(&line.text)).collect()
}

#[test]
fn results_are_told_apart() {
    let trace = "# tracer: nop\n\
        scx_lab-812 [001] ..... 92.63: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) result=0\n\
        scx_lab-990 [000] ..... 97.10: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) result=-16\n\
        scx_lab-991 [000] ..... 97.90: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) result=-22\n";
    let expected = Attaches {
        attached: 1,
        busy: 1,
        failed: vec![-22],
    };
    assert_eq!(Attaches::parse(trace), expected);
}
