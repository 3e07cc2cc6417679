//! Schedulers attach and fail through Podman and containerd without schedctl: what the tests of
//! schedctl rely on.

use lab::CommandOutput;
use schedkit_core::SchedulerExit;
use testkit::machine::{Machine, PODMAN_RUN, machine_with_bpfland};

const CTR_RUN: &str =
    "ctr run --privileged --net-host --mount type=bind,src=/boot,dst=/boot,options=rbind:ro";

fn start(machine: &Machine, image: &str, args: &str) {
    let image = machine.image(image);
    machine.shell(&format!(
        "{PODMAN_RUN} --detach --name plain {image} {args} >/dev/null"
    ));
}

fn remove(machine: &Machine) {
    machine.shell("podman rm --force --time 30 plain >/dev/null");
    machine.await_default();
}

fn run(machine: &Machine, image: &str, args: &str) -> CommandOutput {
    let image = machine.image(image);
    let script = format!("{PODMAN_RUN} --rm {image} {args}");
    machine.node().shell(&script).unwrap()
}

fn kernel_state(machine: &Machine) -> String {
    machine.shell("cat /sys/kernel/sched_ext/state")
}

const IMAGES: [(&str, &str); 3] = [
    ("scx_lab:1.0.0", "lab_1.0.0"),
    ("scx_lab:latest", "lab_1.1.0"),
    ("scx_bpfland:latest", "bpfland_"),
];

#[test]
fn schedulers_attach_and_detach_through_podman() {
    let machine = machine_with_bpfland();
    for (image, ops) in IMAGES {
        start(&machine, image, "");
        machine.await_ops(ops);
        machine.shell("podman stop --time 30 plain");
        let exit = machine.shell("podman inspect --format '{{.State.ExitCode}}' plain");
        assert_eq!(exit, "0", "{image}");
        assert_eq!(kernel_state(&machine), "disabled");
        let output = machine.shell("podman logs plain 2>&1; podman rm plain >/dev/null");
        let reason = "EXIT: unregistered from user space";
        assert!(output.contains(reason), "{image}: {output}");
    }
}

#[test]
fn schedulers_attach_and_detach_through_containerd() {
    let machine = machine_with_bpfland();
    for (image, ops) in IMAGES {
        let image = machine.image(image);
        machine.shell(&format!(
            "ctr images pull --plain-http {image} && {CTR_RUN} --detach {image} plain"
        ));
        machine.await_ops(ops);
        machine.shell("ctr tasks kill --signal SIGTERM plain");
        machine.await_default();
        machine.until("the container ends", || {
            let delete = machine.node().shell("ctr tasks delete plain");
            delete.unwrap().status == 0
        });
        machine.shell("ctr containers delete plain");
    }
}

/// What a fault looks like from outside: the exit code, the scheduler's output, the reason that we
/// read from it, the kernel's log.
struct Fault {
    args: &'static str,
    code: i32,
    output: &'static str,
    reason: &'static str,
    kernel: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        args: "--fault stall --timeout 2s",
        code: 1,
        output: "EXIT: runnable task stall (",
        reason: "Stall",
        kernel: "disabled (runnable task stall)",
    },
    Fault {
        args: "--fault scx-error",
        code: 1,
        output: "EXIT: scx_bpf_error (",
        reason: "BpfError",
        kernel: "disabled (scx_bpf_error)",
    },
    Fault {
        args: "--fault runtime-error",
        code: 1,
        output: "EXIT: runtime error (",
        reason: "RuntimeError",
        kernel: "disabled (runtime error)",
    },
    Fault {
        args: "--fault bpf-exit",
        code: 0,
        output: "EXIT: unregistered from BPF (",
        reason: "UnregisteredByBpf",
        kernel: "disabled (unregistered from BPF)",
    },
    Fault {
        args: "--fault verifier",
        code: 1,
        output: "the kernel refused to load the BPF program",
        reason: "LoadFailedVerifier",
        kernel: "",
    },
    Fault {
        args: "--fault refuse",
        code: 1,
        output: "EXIT: runtime error (ops.init() failed (",
        reason: "RuntimeError",
        kernel: "ops.init() failed",
    },
    Fault {
        args: "--fault exit --after 2s",
        code: 3,
        output: "leaving with exit code 3",
        reason: "Unknown",
        kernel: "disabled (unregistered from user space)",
    },
];

#[test]
fn every_fault_is_in_the_schedulers_output_and_the_kernels_log() {
    let machine = machine_with_bpfland();
    for fault in FAULTS {
        machine.shell("dmesg --clear");
        let args = format!("--name faulty {}", fault.args);
        let output = run(&machine, "scx_lab:1.0.0", &args);
        let text = output.text();
        assert_eq!(output.status, fault.code, "{args}: {text}");
        assert!(text.contains(fault.output), "{args}: {text}");
        let understood = SchedulerExit::parse(&text).unwrap();
        assert_eq!(understood.reason.as_str(), fault.reason, "{args}");
        let log = machine.shell("dmesg");
        assert!(log.contains(fault.kernel), "{args}: {log}");
        assert_eq!(kernel_state(&machine), "disabled", "{args}");
    }
}

#[test]
fn without_a_kernel_configuration_the_reason_is_printed_only_when_asked_for() {
    let machine = machine_with_bpfland();
    let image = machine.image("scx_bpfland:latest");
    for (args, reason) in [
        ("", "LoadFailedUnexplained"),
        ("--verbose", "LoadFailedKconfig"),
    ] {
        let script = format!("podman run --rm --privileged --pid=host {image} {args}");
        let output = machine.node().shell(&script).unwrap();
        assert_eq!(output.status, 1, "{output:?}");
        let understood = SchedulerExit::parse(&output.text()).unwrap();
        assert_eq!(understood.reason.as_str(), reason, "{output:?}");
    }
}

#[test]
fn sysrq_detaches_and_the_scheduler_names_it() {
    let machine = machine_with_bpfland();
    start(&machine, "scx_lab:1.0.0", "");
    machine.await_ops("lab");
    machine.shell("echo S > /proc/sysrq-trigger");
    assert_eq!(machine.shell("podman wait plain"), "1");
    let output = machine.shell("podman logs plain 2>&1; podman rm plain >/dev/null");
    assert!(output.contains("EXIT: disabled by sysrq-S"), "{output}");
    assert_eq!(kernel_state(&machine), "disabled");
}

#[test]
fn a_second_scheduler_is_refused_and_the_first_goes_on() {
    let machine = machine_with_bpfland();
    start(&machine, "scx_lab:1.0.0", "");
    machine.await_ops("lab");
    let output = run(&machine, "scx_lab:1.1.0", "");
    assert_eq!(output.status, 1, "{}", output.text());
    let reason = "another sched_ext scheduler is already running";
    assert!(output.text().contains(reason), "{}", output.text());
    assert_eq!(machine.ops().as_deref(), Some("lab_1.0.0"));
    remove(&machine);
}

#[test]
fn slow_attach_and_ignored_sigterm() {
    let machine = machine_with_bpfland();
    start(&machine, "scx_lab:1.0.0", "--fault slow-attach --after 15s");
    let running = machine.shell("podman inspect --format '{{.State.Running}}' plain");
    assert_eq!(running, "true");
    assert_eq!(kernel_state(&machine), "disabled", "not attached yet");
    machine.await_ops("lab");
    remove(&machine);
    start(&machine, "scx_lab:ignore-sigterm", "");
    machine.await_ops("lab");
    machine.shell("podman stop --time 5 plain");
    let exit = machine.shell("podman inspect --format '{{.State.ExitCode}}' plain");
    assert_eq!(exit, "137");
    remove(&machine);
}

#[test]
fn a_scheduler_attaches_again_after_a_processor_went_offline() {
    let machine = machine_with_bpfland();
    start(&machine, "scx_lab:1.0.0", "");
    machine.await_ops("lab");
    let before = machine.enable_seq();
    machine.shell("echo 0 > /sys/devices/system/cpu/cpu1/online");
    machine.until("the scheduler attaches again", || {
        machine.enable_seq() > before && kernel_state(&machine) == "enabled"
    });
    machine.shell("echo 1 > /sys/devices/system/cpu/cpu1/online");
    let output = machine.shell("podman logs plain 2>&1");
    let reason = "EXIT: unregistered from the main kernel";
    assert!(output.contains(reason), "{output}");
    remove(&machine);
}
