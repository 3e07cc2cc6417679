//! Every attach that a node's kernel was asked for, with its answer, in the kernel's own words.
//!
//! The kernel says nothing in its log when it refuses a second scheduler: it only answers EBUSY to
//! whoever asked. So it is told to note what the function returns that every attach goes through.

use std::collections::BTreeSet;

use lab::Node;

const TRACING: &str = "/sys/kernel/tracing";
const NOTE: &str = "lab_attach";
/// `EBUSY`, as the kernel returns it.
const BUSY: i32 = -16;

/// What a kernel answered to attaches.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attaches {
    /// It attached them.
    pub(crate) taken: u64,
    /// Another one was there.
    pub(crate) busy: u64,
    /// Anything else.
    pub(crate) failed: Vec<i32>,
}

/// From now on the kernel notes each attach.
pub(crate) fn watch(node: &Node<'_>) {
    let probe = format!("r:{NOTE} bpf_scx_reg answer=$retval:s32");
    let script = format!(
        "mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}; \
         echo '{probe}' >{TRACING}/kprobe_events && echo 1 >{TRACING}/events/kprobes/{NOTE}/enable"
    );
    node.must(&script).unwrap();
}

impl Attaches {
    /// What was noted so far.
    pub(crate) fn of(node: &Node<'_>) -> Self {
        Self::parse(&node.must(&format!("cat {TRACING}/trace")).unwrap())
    }

    fn parse(trace: &str) -> Self {
        let mut all = Self::default();
        let noted = trace.lines().filter(|line| line.contains(NOTE));
        for (_, answer) in noted.filter_map(|line| line.rsplit_once("answer=")) {
            match answer.trim().parse().unwrap() {
                0 => all.taken += 1,
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

/// What is attached; nothing, or one on its way in or out: `None`.
pub(crate) fn attached(node: &Node<'_>) -> Option<String> {
    let said = node.run(&["cat", "/sys/kernel/sched_ext/root/ops"]);
    let said = said.unwrap();
    (said.status == 0).then(|| said.stdout.trim().to_owned())
}

/// The names of all that its log says were attached.
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
fn answers_are_told_apart() {
    let trace = "# tracer: nop\n\
        scx_lab-812 [001] ..... 92.63: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) answer=0\n\
        scx_lab-990 [000] ..... 97.10: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) answer=-16\n\
        scx_lab-991 [000] ..... 97.90: lab_attach: (bpf_struct_ops_link_create+0x9c/0x140 <- bpf_scx_reg) answer=-22\n";
    let expected = Attaches {
        taken: 1,
        busy: 1,
        failed: vec![-22],
    };
    assert_eq!(Attaches::parse(trace), expected);
}
