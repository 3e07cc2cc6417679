//! One virtual machine without Kubernetes: schedulers attach and fail for real, through podman
//! and through containerd. The ground for tests of schedctl.

#![cfg(test)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lab::{Daemon, Ground, Lab, Node, Said};
use schedkit_core::SchedulerExit;
use support::{eventually, order, up};

const PATIENCE: Duration = Duration::from_secs(90);

/// One machine for all tests of this file, and one test at a time on it: the kernel takes one
/// scheduler. It ends with this process.
fn machine() -> (Node<'static>, MutexGuard<'static, ()>) {
    static LAB: OnceLock<Lab> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lab = LAB.get_or_init(|| up(&order("test-machine", Ground::Machine, 1)));
    let node = lab.node("node1").unwrap();
    // What a failed test left behind is not the next one's fault.
    let clear = "podman rm --all --force --time 5; ctr tasks delete --force s; ctr containers delete s; true";
    shell(&node, clear);
    await_default(&node);
    (node, turn)
}

fn shell(node: &Node<'_>, script: &str) -> Said {
    node.shell(script).unwrap()
}

fn must(node: &Node<'_>, script: &str) -> String {
    let said = shell(node, script);
    assert_eq!(said.status, 0, "{script}\n{}{}", said.out, said.err);
    said.out.trim().to_owned()
}

fn kernel_state(node: &Node<'_>) -> String {
    must(node, "cat /sys/kernel/sched_ext/state")
}

/// What the kernel says about the scheduler that is attached.
fn await_ops(node: &Node<'_>) -> String {
    eventually("a scheduler is attached", PATIENCE, || {
        let said = shell(node, "cat /sys/kernel/sched_ext/root/ops");
        (said.status == 0).then(|| said.out.trim().to_owned())
    })
}

fn await_default(node: &Node<'_>) {
    eventually("the kernel is back on its own scheduler", PATIENCE, || {
        (kernel_state(node) == "disabled").then_some(())
    });
}

const PODMAN: &str = "podman run --privileged --pid=host --volume /boot:/boot:ro";
const CTR: &str =
    "ctr run --privileged --net-host --mount type=bind,src=/boot,dst=/boot,options=rbind:ro";

#[test]
fn the_kernel_has_sched_ext_and_runs_none() {
    let (node, _turn) = machine();
    assert_eq!(kernel_state(&node), "disabled");
    assert_eq!(
        must(
            &node,
            "test -r /sys/kernel/btf/vmlinux && test -S /run/podman/podman.sock && echo yes"
        ),
        "yes"
    );
}

/// Not on the QEMU of Debian 12, which may be installed beside it: a machine is named for the QEMU
/// that came with it.
#[test]
fn it_has_two_processors_on_a_qemu_that_can_run_both() {
    let (node, _turn) = machine();
    assert_eq!(must(&node, "nproc"), "2");
    let version = must(&node, "cat /sys/class/dmi/id/product_version");
    let major = version
        .strip_prefix("pc-q35-")
        .and_then(|numbers| numbers.split('.').next()?.parse::<u32>().ok());
    assert!(major.is_some_and(|major| major >= 10), "{version}");
}

#[test]
fn schedulers_attach_and_detach_through_podman() {
    let (node, _turn) = machine();
    for (image, ops) in [
        ("scx_lab:1.0.0", "lab_1.0.0"),
        ("scx_lab:latest", "lab_1.1.0"),
        ("scx_bpfland:latest", "bpfland_"),
    ] {
        must(
            &node,
            &format!("{PODMAN} --detach --name s registry.lab:5000/{image}"),
        );
        let attached = await_ops(&node);
        assert!(attached.starts_with(ops), "{image} attached as {attached}");
        must(&node, "podman stop --time 30 s");
        assert_eq!(
            must(&node, "podman inspect --format '{{.State.ExitCode}}' s"),
            "0",
            "{image}"
        );
        assert_eq!(kernel_state(&node), "disabled");
        let words = must(&node, "podman logs s 2>&1; podman rm s >/dev/null");
        assert!(
            words.contains("EXIT: unregistered from user space"),
            "{image}: {words}"
        );
    }
}

#[test]
fn schedulers_attach_and_detach_through_containerd() {
    let (node, _turn) = machine();
    for (image, ops) in [
        ("scx_lab:1.0.0", "lab_1.0.0"),
        ("scx_lab:1.1.0", "lab_1.1.0"),
        ("scx_bpfland:latest", "bpfland_"),
    ] {
        let image = format!("registry.lab:5000/{image}");
        must(
            &node,
            &format!("ctr images pull --plain-http {image} && {CTR} --detach {image} s"),
        );
        let attached = await_ops(&node);
        assert!(attached.starts_with(ops), "{image} attached as {attached}");
        must(&node, "ctr tasks kill --signal SIGTERM s");
        await_default(&node);
        eventually("the container ends", PATIENCE, || {
            (shell(&node, "ctr tasks delete s").status == 0).then_some(())
        });
        must(&node, "ctr containers delete s");
    }
}

/// What a fault looks like from outside: the exit code, the scheduler's words, what we make of
/// them, the kernel's words.
struct Fault {
    arguments: &'static str,
    code: i32,
    says: &'static str,
    reason: &'static str,
    kernel: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        arguments: "--fault stall --timeout 2s",
        code: 1,
        says: "EXIT: runnable task stall (",
        reason: "Stall",
        kernel: "disabled (runnable task stall)",
    },
    Fault {
        arguments: "--fault scx-error",
        code: 1,
        says: "EXIT: scx_bpf_error (",
        reason: "BpfError",
        kernel: "disabled (scx_bpf_error)",
    },
    Fault {
        arguments: "--fault runtime-error",
        code: 1,
        says: "EXIT: runtime error (",
        reason: "RuntimeError",
        kernel: "disabled (runtime error)",
    },
    Fault {
        arguments: "--fault bpf-exit",
        code: 0,
        says: "EXIT: unregistered from BPF (",
        reason: "UnregisteredByBpf",
        kernel: "disabled (unregistered from BPF)",
    },
    Fault {
        arguments: "--fault verifier",
        code: 1,
        says: "the kernel refused to load the BPF program",
        reason: "LoadFailedVerifier",
        kernel: "",
    },
    Fault {
        arguments: "--fault refuse",
        code: 1,
        says: "EXIT: runtime error (ops.init() failed (",
        reason: "RuntimeError",
        kernel: "ops.init() failed",
    },
    Fault {
        arguments: "--fault exit --after 2s",
        code: 3,
        says: "leaving with exit code 3",
        reason: "Unknown",
        kernel: "disabled (unregistered from user space)",
    },
];

#[test]
fn every_fault_is_told_by_the_kernel_and_the_scheduler() {
    let (node, _turn) = machine();
    for fault in FAULTS {
        must(&node, "dmesg --clear");
        let said = shell(
            &node,
            &format!(
                "{PODMAN} --rm registry.lab:5000/scx_lab:1.0.0 --name faulty {}",
                fault.arguments
            ),
        );
        let words = format!("{}{}", said.out, said.err);
        assert_eq!(said.status, fault.code, "{}: {words}", fault.arguments);
        assert!(words.contains(fault.says), "{}: {words}", fault.arguments);
        let understood = SchedulerExit::parse(&words).unwrap();
        assert_eq!(
            understood.reason.as_str(),
            fault.reason,
            "{}",
            fault.arguments
        );
        let kernel = must(&node, "dmesg");
        assert!(
            kernel.contains(fault.kernel),
            "{}: {kernel}",
            fault.arguments
        );
        assert_eq!(kernel_state(&node), "disabled", "{}", fault.arguments);
    }
}

#[test]
fn without_a_kernel_configuration_the_reason_is_told_only_when_asked_for() {
    let (node, _turn) = machine();
    let run = "podman run --rm --privileged --pid=host registry.lab:5000/scx_bpfland:latest";
    for (more, reason) in [
        ("", "LoadFailedUnexplained"),
        ("--verbose", "LoadFailedKconfig"),
    ] {
        let said = shell(&node, &format!("{run} {more}"));
        assert_eq!(said.status, 1, "{said:?}");
        let understood = SchedulerExit::parse(&said.words()).unwrap();
        assert_eq!(understood.reason.as_str(), reason, "{said:?}");
    }
}

#[test]
fn the_kernel_names_who_pulled_the_brake() {
    let (node, _turn) = machine();
    must(
        &node,
        &format!("{PODMAN} --detach --name s registry.lab:5000/scx_lab:1.0.0"),
    );
    await_ops(&node);
    must(&node, "echo S > /proc/sysrq-trigger");
    assert_eq!(must(&node, "podman wait s"), "1");
    let words = must(&node, "podman logs s 2>&1; podman rm s >/dev/null");
    assert!(words.contains("EXIT: disabled by sysrq-S"), "{words}");
    assert_eq!(kernel_state(&node), "disabled");
}

#[test]
fn a_second_scheduler_is_refused_and_the_first_goes_on() {
    let (node, _turn) = machine();
    must(
        &node,
        &format!("{PODMAN} --detach --name s registry.lab:5000/scx_lab:1.0.0"),
    );
    await_ops(&node);
    let said = shell(
        &node,
        &format!("{PODMAN} --rm registry.lab:5000/scx_lab:1.1.0"),
    );
    let words = format!("{}{}", said.out, said.err);
    assert_eq!(said.status, 1, "{words}");
    assert!(
        words.contains("another sched_ext scheduler is already running"),
        "{words}"
    );
    assert_eq!(await_ops(&node), "lab_1.0.0");
    must(&node, "podman rm --force --time 30 s");
    await_default(&node);
}

#[test]
fn slow_and_deaf_schedulers() {
    let (node, _turn) = machine();
    must(
        &node,
        &format!(
            "{PODMAN} --detach --name s registry.lab:5000/scx_lab:1.0.0 --fault slow-attach --after 15s"
        ),
    );
    assert_eq!(
        must(&node, "podman inspect --format '{{.State.Running}}' s"),
        "true"
    );
    assert_eq!(
        kernel_state(&node),
        "disabled",
        "it runs and is not attached yet"
    );
    await_ops(&node);
    must(&node, "podman rm --force --time 30 s");
    await_default(&node);

    must(
        &node,
        &format!("{PODMAN} --detach --name s registry.lab:5000/scx_lab:ignore-sigterm"),
    );
    await_ops(&node);
    must(&node, "podman stop --time 5 s");
    assert_eq!(
        must(
            &node,
            "podman inspect --format '{{.State.ExitCode}}' s; podman rm s >/dev/null"
        ),
        "137"
    );
    await_default(&node);
}

#[test]
fn hotplug_is_left_to_the_kernel_and_the_scheduler_comes_back() {
    let (node, _turn) = machine();
    must(
        &node,
        &format!("{PODMAN} --detach --name s registry.lab:5000/scx_lab:1.0.0"),
    );
    await_ops(&node);
    let before: u64 = must(&node, "cat /sys/kernel/sched_ext/enable_seq")
        .parse()
        .unwrap();
    must(&node, "echo 0 > /sys/devices/system/cpu/cpu1/online");
    eventually("the scheduler attaches again", PATIENCE, || {
        let now: u64 = must(&node, "cat /sys/kernel/sched_ext/enable_seq")
            .parse()
            .unwrap();
        (now > before && kernel_state(&node) == "enabled").then_some(())
    });
    must(&node, "echo 1 > /sys/devices/system/cpu/cpu1/online");
    let words = must(&node, "podman logs s 2>&1");
    assert!(
        words.contains("EXIT: unregistered from the main kernel"),
        "{words}"
    );
    must(&node, "podman rm --force --time 30 s");
    await_default(&node);
}

#[test]
fn commands_and_files_reach_the_node_as_they_are() {
    let (node, _turn) = machine();
    assert_eq!(
        node.run(&["printf", "%s|", "a b", "$HOME", "it's"])
            .unwrap()
            .out,
        "a b|$HOME|it's|"
    );
    assert_eq!(shell(&node, "exit 42").status, 42);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file with blanks");
    std::fs::write(&file, [0_u8, 255, 10]).unwrap();
    let cp = |from: &str, to: &str| {
        Command::new(support::LAB)
            .env("SCHEDKIT_LAB_STATE", support::state_folder())
            .args(["--name", "test-machine", "cp", from, to])
            .status()
            .unwrap()
    };
    let back = folder.path().join("back");
    assert!(cp(file.to_str().unwrap(), "node1:/root/there").success());
    assert!(cp("node1:/root/there", back.to_str().unwrap()).success());
    assert_eq!(std::fs::read(back).unwrap(), [0, 255, 10]);
    assert!(
        node.console().contains("lab: node1 is up"),
        "{}",
        node.console()
    );
}

#[test]
fn a_job_is_found_killed_and_heard() {
    let (node, _turn) = machine();
    let script = "echo \"$0\"; echo err >&2; exec sleep 1000";
    let job = node.background(&["sh", "-c", script, "a  b"]).unwrap();
    let comm = format!("/proc/{}/comm", job.pid());
    must(
        &node,
        &format!("until grep -q sleep {comm}; do sleep 0.1; done"),
    );
    assert_eq!(job.ended().unwrap(), None);
    job.kill("KILL").unwrap();
    let said = job.wait(PATIENCE).unwrap();
    let said = (said.out.as_str(), said.err.as_str(), said.status);
    assert_eq!(said, ("a  b", "err", 128 + 9));
}

#[test]
fn runtimes_stop_when_told_and_come_back() {
    let (node, _turn) = machine();
    for (daemon, question) in [
        (
            Daemon::Podman,
            "podman --url unix:///run/podman/podman.sock version",
        ),
        (Daemon::Containerd, "ctr version"),
    ] {
        let answers = || shell(&node, question).status == 0;
        node.start(daemon).unwrap();
        assert!(answers(), "{daemon:?}");
        // Stopped is stopped, also the second time.
        for _ in 0..2 {
            node.stop(daemon).unwrap();
            assert!(!answers(), "{daemon:?} answers though it was stopped");
        }
        node.start(daemon).unwrap();
        assert!(answers(), "{daemon:?} does not come back");
    }
}

#[test]
fn the_kernel_tells_when_it_attached_and_detached() {
    let (node, _turn) = machine();
    let image = "registry.lab:5000/scx_lab:1.0.0";
    must(&node, &format!("podman pull --quiet {image}"));
    let mark = node.mark("podman run").unwrap();
    must(&node, &format!("{PODMAN} --detach --name s {image}"));
    let said = |words: &str| node.await_kernel(&mark, words, PATIENCE).unwrap().at - mark.at;
    let attached = said(r#"BPF scheduler "lab_1.0.0" enabled"#);
    println!("podman run to attached: {attached:?}");
    must(&node, "podman rm --force --time 30 s");
    assert!(said("disabled (unregistered from user space)") > attached);
}

#[test]
fn the_console_answers_and_lets_go() {
    let (_node, _turn) = machine();
    let mut console = Command::new("timeout")
        .args(["90", support::LAB])
        .env("SCHEDKIT_LAB_STATE", support::state_folder())
        .args(["--name", "test-machine", "console", "node1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut keyboard = console.stdin.take().unwrap();
    keyboard.write_all(b"echo answer-$((40+2))\n").unwrap();
    let lines = BufReader::new(console.stdout.take().unwrap()).lines();
    let answered = lines
        .map_while(Result::ok)
        .any(|line| line.contains("answer-42"));
    assert!(answered, "the console ended without an answer");
    keyboard.write_all(&[0x1d]).unwrap();
    assert!(console.wait().unwrap().success());
}
