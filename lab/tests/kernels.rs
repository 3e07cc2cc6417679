//! Every kernel series with sched_ext that Debian offers: scx_lab attaches, detaches and is
//! ejected there, and the kernel gives its reasons. Prints a table.

#![cfg(test)]

mod support;

use std::fmt::Write;
use std::time::Duration;

use lab::cache::Cache;
use lab::debian::Archive;
use lab::parts::kernel::newest_of_each_series;
use lab::{Ground, Node, Order, Scheduler};
use schedkit_core::KernelRelease;
use support::{eventually, order, up};

/// The first series that Debian builds with sched_ext.
const FIRST: [u32; 3] = [6, 16, 0];

const PODMAN: &str = "podman run --privileged --pid=host registry.lab:5000/scx_lab:1.0.0";

fn kernels() -> Vec<KernelRelease> {
    let cache = Cache::new(lab::environment::cache_folder());
    let archive = Archive::of_nodes(&cache).unwrap();
    archive.refresh(&cache).unwrap();
    let mut kernels = newest_of_each_series(&archive).unwrap();
    kernels.retain(|release| release.numbers() >= FIRST);
    assert!(
        !kernels.is_empty(),
        "Debian offers no kernel with sched_ext"
    );
    kernels
}

/// The last reason that the kernel gave for letting a scheduler go.
fn reason(node: &Node<'_>) -> String {
    let log = node
        .shell("dmesg | grep 'sched_ext: BPF scheduler' | tail -n 1")
        .unwrap()
        .out;
    let reason = log
        .rsplit_once("disabled (")
        .and_then(|(_, rest)| rest.trim().strip_suffix(')'));
    reason.map_or_else(|| format!("no reason in {log:?}"), str::to_owned)
}

/// Runs a fault to its end; gives the scheduler's and the kernel's account of it.
fn eject(node: &Node<'_>, fault: &str) -> (String, String) {
    let said = node.shell(&format!("{PODMAN} --fault {fault}")).unwrap();
    assert_eq!(said.status, 1, "{fault}: {}{}", said.out, said.err);
    let words = format!("{}{}", said.out, said.err);
    let exit = words
        .lines()
        .find(|line| line.starts_with("EXIT: "))
        .unwrap_or_default();
    (exit.to_owned(), reason(node))
}

fn attach_and_detach(node: &Node<'_>) -> (String, String) {
    let id = node
        .shell(&PODMAN.replace("run", "run --detach"))
        .unwrap()
        .out;
    let ops = eventually("scx_lab attaches", Duration::from_secs(90), || {
        let said = node
            .run(&["cat", "/sys/kernel/sched_ext/root/ops"])
            .unwrap();
        (said.status == 0).then(|| said.out.trim().to_owned())
    });
    let stopped = node
        .run(&["podman", "stop", "--time", "30", id.trim()])
        .unwrap();
    assert_eq!(stopped.status, 0, "{}", stopped.err);
    assert_eq!(
        node.run(&["cat", "/sys/kernel/sched_ext/state"])
            .unwrap()
            .out,
        "disabled\n"
    );
    (ops, reason(node))
}

#[test]
fn every_kernel_attaches_detaches_and_ejects() {
    let mut table = format!(
        "{:32} {:10} {:30} {:24} {:16}\n",
        "KERNEL", "ATTACHED", "DETACHED", "STALL", "SCX-ERROR"
    );
    for kernel in kernels() {
        let lab = up(&Order {
            kernel: kernel.to_string(),
            schedulers: vec![Scheduler::ScxLab],
            ..order("test-kernels", Ground::Machine, 1)
        });
        let node = lab.node("node1").unwrap();
        assert_eq!(
            node.run(&["uname", "-r"]).unwrap().out.trim(),
            kernel.as_str()
        );
        let (ops, detached) = attach_and_detach(&node);
        let (stall_exit, stall) = eject(&node, "stall --timeout 2s");
        let (error_exit, error) = eject(&node, "scx-error");
        writeln!(
            table,
            "{kernel:32} {ops:10} {detached:30} {stall:24} {error:16}"
        )
        .unwrap();
        writeln!(table, "{:32} {stall_exit}\n{:32} {error_exit}", "", "").unwrap();
        assert_eq!(detached, "unregistered from user space", "{kernel}");
        assert_eq!(stall, "runnable task stall", "{kernel}");
        assert_eq!(error, "scx_bpf_error", "{kernel}");
        assert!(
            stall_exit.starts_with("EXIT: runnable task stall ("),
            "{kernel}: {stall_exit}"
        );
        assert!(
            error_exit.starts_with("EXIT: scx_bpf_error ("),
            "{kernel}: {error_exit}"
        );
    }
    println!("\n{table}");
}
