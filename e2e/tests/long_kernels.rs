//! Every kernel series with sched_ext that Debian offers: scx_lab attaches, detaches and is
//! ejected there, and the kernel reports its reasons. Prints a table.

#![cfg(test)]

use std::fmt::Write;
use std::time::Duration;

use lab::cache::Cache;
use lab::debian::Archive;
use lab::parts::kernel::by_series;
use lab::parts::scheduler::own_program;
use lab::{Lab, LabSpec, Node, Topology, ssh};
use schedkit_core::KernelRelease;
use testkit::machine::fail;
use testkit::program::labs;
use testkit::wait::eventually;

/// The first series that Debian builds with sched_ext.
const FIRST: [u32; 3] = [6, 16, 0];

/// What scx_lab says where the kernel's own description of itself lacks a function. Some builds
/// of 7.1 and 7.2 do: no BPF program at all can call `scx_bpf_error` there.
const NOT_CALLABLE: &str = "no BPF program can call";

fn kernels() -> Vec<Vec<KernelRelease>> {
    let cache = Cache::new(lab::environment::cache_folder());
    let archive = Archive::of_nodes(&cache).unwrap();
    archive.refresh(&cache).unwrap();
    let mut kernels = by_series(&archive).unwrap();
    kernels.retain(|series| series[0].numbers() >= FIRST);
    assert!(
        !kernels.is_empty(),
        "Debian offers no kernel with sched_ext"
    );
    kernels
}

/// The reason of one scheduler's end, as the scheduler and as the kernel report it.
struct ExitReasons {
    scheduler: String,
    kernel: String,
}

/// The last reason that the kernel gave for letting a scheduler go.
fn reason(node: &Node<'_>) -> String {
    let log = node
        .shell("dmesg | grep 'sched_ext: BPF scheduler' | tail -n 1")
        .unwrap()
        .stdout;
    let reason = log
        .rsplit_once("disabled (")
        .and_then(|(_, rest)| rest.trim().strip_suffix(')'));
    reason.map_or_else(|| format!("no reason in {log:?}"), str::to_owned)
}

/// Puts scx_lab on the node. It runs there without a container, because Debian soon drops the
/// modules of older kernels, and with them networks and overlays.
fn bring_scheduler(lab: &Lab) {
    let cache = Cache::new(lab::environment::cache_folder());
    let program = own_program(&cache).expect("the lab has built scx_lab");
    let copied = ssh::copy(
        lab.state(),
        "node1",
        program.to_str().unwrap(),
        "node1:/tmp/scx_lab",
    )
    .status();
    assert!(copied.unwrap().success(), "scx_lab did not get to the node");
}

/// Runs a fault to its end; nothing where this kernel cannot be asked for it.
fn eject(node: &Node<'_>, fault: &str) -> Option<ExitReasons> {
    let output = node
        .shell(&format!("/tmp/scx_lab --name lab_matrix --fault {fault}"))
        .unwrap();
    let text = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.status, 1, "{fault}: {text}");
    if text.contains(NOT_CALLABLE) {
        return None;
    }
    let exit = text.lines().find(|line| line.starts_with("EXIT: "));
    let scheduler = exit
        .unwrap_or_else(|| panic!("{fault}: no EXIT line in {text}"))
        .to_owned();
    Some(ExitReasons {
        scheduler,
        kernel: reason(node),
    })
}

fn attach_and_detach(node: &Node<'_>) -> (String, String) {
    node.shell("/tmp/scx_lab --name lab_matrix </dev/null >/tmp/output 2>&1 & echo $! >/tmp/pid")
        .unwrap();
    let ops = eventually("scx_lab attaches", Duration::from_secs(90), || {
        let output = node
            .run(&["cat", "/sys/kernel/sched_ext/root/ops"])
            .unwrap();
        (output.status == 0).then(|| output.stdout.trim().to_owned())
    });
    assert_eq!(node.shell("kill -TERM $(cat /tmp/pid)").unwrap().status, 0);
    eventually("scx_lab detaches", Duration::from_secs(90), || {
        let output = node.run(&["cat", "/sys/kernel/sched_ext/state"]).unwrap();
        (output.stdout == "disabled\n").then_some(())
    });
    (ops, reason(node))
}

/// Attaches, detaches and ejects scx_lab on one kernel and adds its rows to the table. Returns
/// whether the kernel supports every fault.
fn attach_and_eject(kernel: &KernelRelease, table: &mut String) -> bool {
    let spec = LabSpec {
        kernel: kernel.to_string(),
        ..LabSpec::new("e2e-kernels", Topology::Machine, &labs())
    };
    let lab = Lab::up(&spec, |_| {}).unwrap_or_else(fail);
    bring_scheduler(&lab);
    let node = lab.node("node1").unwrap();
    assert_eq!(
        node.run(&["uname", "-r"]).unwrap().stdout.trim(),
        kernel.as_str()
    );
    let (ops, detached) = attach_and_detach(&node);
    assert_eq!(ops, "lab_matrix", "{kernel}");
    assert_eq!(detached, "unregistered from user space", "{kernel}");
    writeln!(table, "{kernel:30} attached as {ops}, detached: {detached}").unwrap();
    let stall = eject(&node, "stall --timeout 2s").expect("a stall needs no kernel function");
    let error = eject(&node, "scx-error");
    for (fault, wanted, reasons) in [
        ("stall", "runnable task stall", Some(&stall)),
        ("scx-error", "scx_bpf_error", error.as_ref()),
    ] {
        let Some(ExitReasons {
            scheduler,
            kernel: reason,
        }) = reasons
        else {
            writeln!(
                table,
                "{:30} {fault:10} cannot be asked for: this build's BTF lacks the function",
                ""
            )
            .unwrap();
            continue;
        };
        writeln!(
            table,
            "{:30} {fault:10} kernel: {reason:20} scheduler: {scheduler}",
            ""
        )
        .unwrap();
        assert_eq!(reason, wanted, "{kernel}");
        assert!(
            scheduler.starts_with(&format!("EXIT: {wanted} (")),
            "{kernel}: {scheduler}"
        );
    }
    error.is_some()
}

#[test]
fn every_series_attaches_detaches_and_ejects() {
    let mut table = String::new();
    for series in kernels() {
        // The newest release tells; where it cannot be asked for everything, older ones are, too.
        let complete = series
            .iter()
            .any(|kernel| attach_and_eject(kernel, &mut table));
        assert!(
            complete,
            "no release of {} can be asked for everything:\n{table}",
            series[0]
        );
    }
    println!("\n{table}");
}
