//! Recorded outputs of schedulers (`tests/fixtures/exit_output`) and the exit reason of each.

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/fixtures/exit_output/", $name, ".txt"))
    };
}

/// Recorded in a virtual machine; see the README beside the files.
macro_rules! recorded {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../tests/fixtures/exit_output/6.18.15+deb13-cloud-amd64/",
                $name,
                ".txt"
            )),
        )
    };
}

/// A file, its reason and its message.
type Case = ((&'static str, &'static str), ExitReason, &'static str);

fn check(cases: &[Case]) {
    for ((name, output), reason, message) in cases {
        let exit = SchedulerExit::parse(output).expect(name);
        assert_eq!(exit.reason, *reason, "{name}");
        assert_eq!(exit.message, *message, "{name}");
    }
}

#[test]
fn recorded_exits_of_attached_schedulers_are_recognized() {
    check(&[
        (
            recorded!("scx_lab-1.0.0-stopped"),
            ExitReason::Unregistered,
            "",
        ),
        (recorded!("scx_lab-1.0.0-sysrq"), ExitReason::SysRq, ""),
        (
            recorded!("scx_lab-1.0.0-hotplug"),
            ExitReason::Hotplug,
            "cpu 1 going offline, exiting scheduler",
        ),
        (
            recorded!("scx_lab-1.0.0-hotplug-stopped"),
            ExitReason::Unregistered,
            "",
        ),
        (
            recorded!("scx_lab-1.0.0-stall"),
            ExitReason::Stall,
            "lab-victim[567] failed to run for 2.856s",
        ),
        (
            recorded!("scx_lab-1.0.0-scx-error"),
            ExitReason::BpfError,
            "lab fault: scx_bpf_error on order",
        ),
        (
            recorded!("scx_lab-1.0.0-runtime-error"),
            ExitReason::RuntimeError,
            "non-existent DSQ 0x1ab for podman[751]",
        ),
        (
            recorded!("scx_lab-1.0.0-bpf-exit"),
            ExitReason::UnregisteredByBpf,
            "lab fault: scx_bpf_exit on order",
        ),
    ]);
}

#[test]
fn recorded_exits_before_the_attach_are_recognized() {
    use LoadFailure as Load;
    check(&[
        (
            recorded!("scx_lab-1.0.0-verifier"),
            ExitReason::LoadFailed(Load::Verifier),
            "R1 invalid mem access 'scalar'",
        ),
        (
            recorded!("scx_lab-1.0.0-refuse"),
            ExitReason::RuntimeError,
            "ops.init() failed (-1)",
        ),
        (
            recorded!("scx_lab-1.0.0-exit"),
            ExitReason::Unknown("lab: leaving with exit code 3, as ordered".to_owned()),
            "lab: leaving with exit code 3, as ordered",
        ),
        (
            recorded!("scx_lab-1.0.0-busy"),
            ExitReason::LoadFailed(Load::Busy),
            "Error: another sched_ext scheduler is already running: \"lab_1.0.0\" holds the \
             kernel, stop it first",
        ),
        (
            recorded!("scx_lab-1.0.0-permission"),
            ExitReason::LoadFailed(Load::Permission),
            "Error: loading a scheduler needs the capabilities CAP_BPF and CAP_PERFMON: run as \
             root or in a privileged container",
        ),
        (
            recorded!("scx_lab-1.0.0-usage"),
            ExitReason::Unknown("For more information, try '--help'.".to_owned()),
            "For more information, try '--help'.",
        ),
    ]);
}

#[test]
fn recorded_exits_of_scx_bpfland_are_recognized() {
    use LoadFailure as Load;
    check(&[
        (
            recorded!("scx_bpfland-1.1.4-stopped"),
            ExitReason::Unregistered,
            "",
        ),
        (recorded!("scx_bpfland-1.1.4-sysrq"), ExitReason::SysRq, ""),
        (
            recorded!("scx_bpfland-1.1.4-hotplug"),
            ExitReason::Hotplug,
            "cpu 1 going offline, exiting scheduler",
        ),
        (
            recorded!("scx_bpfland-1.1.4-busy"),
            ExitReason::LoadFailed(Load::Busy),
            "Error: another sched_ext scheduler is already running",
        ),
        (
            recorded!("scx_bpfland-1.1.4-kconfig"),
            ExitReason::LoadFailed(Load::Unexplained),
            "Error: Failed to load BPF program: Invalid argument (os error 22)",
        ),
        (
            recorded!("scx_bpfland-1.1.4-kconfig-verbose"),
            ExitReason::LoadFailed(Load::Kconfig),
            "libbpf: failed to open system Kconfig",
        ),
        (
            recorded!("scx_bpfland-1.1.4-permission"),
            ExitReason::LoadFailed(Load::Permission),
            "Operation not permitted (os error 1)",
        ),
        (
            recorded!("scx_bpfland-1.1.4-usage"),
            ExitReason::Unknown("For more information, try '--help'.".to_owned()),
            "For more information, try '--help'.",
        ),
    ]);
}

/// Some of the same exits were recorded on other kernels; the messages differ in process names.
#[test]
fn every_kernel_gives_the_same_reasons() {
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/exit_output");
    let known = std::path::Path::new(all).join("6.18.15+deb13-cloud-amd64");
    let inside = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.collect::<Vec<_>>()
    };
    let reason = |path: &std::path::Path| {
        let output = std::fs::read_to_string(path).unwrap();
        SchedulerExit::parse(&output).unwrap().reason
    };
    let mut kernels = inside(all.as_ref());
    kernels.retain(|path| path.is_dir() && *path != known);
    assert!(kernels.len() >= 2, "{kernels:?}");
    for kernel in kernels {
        let recorded = inside(&kernel);
        assert!(recorded.len() >= 11, "{recorded:?}");
        for file in recorded {
            let same = known.join(file.file_name().unwrap());
            assert_eq!(reason(&file), reason(&same), "{}", file.display());
        }
    }
}

#[test]
fn exits_that_the_lab_cannot_produce_are_recognized() {
    use LoadFailure as Load;
    for (name, output, reason, message) in [
        (
            "stall",
            fixture!("stall"),
            ExitReason::Stall,
            "lab-victim[77] failed to run for 5.012s",
        ),
        (
            "stall on a cpu",
            fixture!("stall_cpu"),
            ExitReason::Stall,
            "kworker/1:2[9] failed to run for 30.1s (twice)",
        ),
        (
            "stopped, with a cpu",
            fixture!("stopped_cpu"),
            ExitReason::Unregistered,
            "",
        ),
        (
            "by kernel",
            fixture!("by_kernel"),
            ExitReason::UnregisteredByKernel,
            "",
        ),
        ("parent", fixture!("parent"), ExitReason::ParentExiting, ""),
        (
            "btf",
            fixture!("btf"),
            ExitReason::LoadFailed(Load::Btf),
            "libbpf: Error loading vmlinux BTF: -ESRCH",
        ),
        (
            "busy, by number",
            fixture!("busy_errno"),
            ExitReason::LoadFailed(Load::Busy),
            "Device or resource busy (os error 16)",
        ),
        (
            "function",
            fixture!("kernel_function"),
            ExitReason::LoadFailed(Load::KernelFunction),
            "libbpf: extern (func ksym) 'scx_bpf_future': not found in kernel or module BTFs",
        ),
        (
            "no memory",
            fixture!("memory"),
            ExitReason::LoadFailed(Load::Memory),
            "Cannot allocate memory (os error 12)",
        ),
        (
            "an older sched_ext",
            fixture!("kernel_too_old"),
            ExitReason::LoadFailed(Load::KernelTooOld),
            "Error: sched_ext_ops.dump() missing, kernel too old?",
        ),
        (
            "no sched_ext",
            fixture!("kernel_without_sched_ext"),
            ExitReason::LoadFailed(Load::KernelTooOld),
            "libbpf: struct_ops init_kern: struct sched_ext_ops is not found in kernel BTF",
        ),
        (
            "permission",
            fixture!("permission"),
            ExitReason::LoadFailed(Load::Permission),
            "libbpf: prog 'lab_init': BPF program load failed: -EPERM",
        ),
    ] {
        let exit = SchedulerExit::parse(output).expect(name);
        assert_eq!(exit.reason, reason, "{name}");
        assert_eq!(exit.message, message, "{name}");
    }
}

#[test]
fn the_last_words_of_a_panic_are_its_message() {
    for (name, output, reason, message) in [
        (
            "no debugfs",
            fixture!("panic_debugfs"),
            ExitReason::LoadFailed(LoadFailure::Tracefs),
            "called `Result::unwrap()` on an `Err` value: No debugfs mount found",
        ),
        (
            "no debugfs, with a backtrace",
            fixture!("panic_debugfs_backtrace"),
            ExitReason::LoadFailed(LoadFailure::Tracefs),
            "called `Result::unwrap()` on an `Err` value: No debugfs mount found",
        ),
        (
            "after a restart",
            fixture!("panic_after_hotplug"),
            ExitReason::Panicked(
                "called `Result::unwrap()` on an `Err` value: EOF while parsing a value at line 1 \
                 column 0"
                    .to_owned(),
            ),
            "called `Result::unwrap()` on an `Err` value: EOF while parsing a value at line 1 \
             column 0",
        ),
        (
            "aborted",
            fixture!("panic_abort"),
            ExitReason::Panicked("already borrowed: BorrowMutError".to_owned()),
            "already borrowed: BorrowMutError",
        ),
    ] {
        let exit = SchedulerExit::parse(output).expect(name);
        assert_eq!(exit.reason, reason, "{name}");
        assert_eq!(exit.message, message, "{name}");
        let lines = meaningful_lines(output);
        assert!(lines.iter().any(|line| line.trim() == message), "{lines:?}");
        let noise = |line: &&&str| line.contains("RUST_BACKTRACE") || line.contains("unknown>");
        assert_eq!(lines.iter().find(noise), None, "{name}");
    }
}

/// Objects are closed while the main thread unwinds.
#[test]
fn libbpf_after_a_panic_of_the_main_thread_is_not_the_reason() {
    let output = "thread 'main' panicked at src/main.rs:3:5:\nno domain\n\
                  libbpf: prog 'lab_init': failed to detach: -EBUSY\n";
    let exit = SchedulerExit::parse(output).unwrap();
    assert_eq!(exit.reason, ExitReason::Panicked("no domain".to_owned()));
    assert_eq!(meaningful_lines(output).last(), Some(&"no domain"));
    // Another thread panicked, and the process went on.
    let output = output.replace("'main'", "'stats'");
    let exit = SchedulerExit::parse(&output).unwrap();
    assert_eq!(exit.reason, ExitReason::LoadFailed(LoadFailure::Busy));
}

#[test]
fn a_panic_while_it_ends_does_not_hide_why_the_kernel_ejected_it() {
    let output = "EXIT: runnable task stall (a[1] failed to run for 30.1s)\n\
                  thread 'main' panicked at 'no report', src/main.rs:1:2\n";
    let exit = SchedulerExit::parse(output).unwrap();
    assert_eq!(exit.reason, ExitReason::Stall);
}

#[test]
fn messages_of_panics_may_have_several_lines_or_be_quoted() {
    for (output, message) in [
        (
            "thread 'main' panicked at 'no report', src/main.rs:1:2\nnote: run with \
             `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
            "no report",
        ),
        (
            "thread 'main' (7) panicked at src/main.rs:1:2:\nassertion `left == right` failed\n  \
             left: 1\n right: 2\nnote: run with `RUST_BACKTRACE=1` environment variable\n",
            "assertion `left == right` failed left: 1 right: 2",
        ),
        (
            "thread 'main' (7) panicked at src/main.rs:1:2:\nno topology\n\nCaused by:\n    0: \
             no cpu\n    1: no file\n\nStack backtrace:\n   0: <unknown>\n",
            "no topology Caused by: 0: no cpu 1: no file",
        ),
        ("thread 'main' panicked at src/main.rs:1:2:\n", ""),
    ] {
        let exit = SchedulerExit::parse(output).unwrap();
        assert!(exit.message.starts_with(message), "{exit:?}");
        assert_eq!(exit.reason.as_str(), "Panicked");
        assert!(!exit.message.contains("RUST_BACKTRACE"), "{exit:?}");
    }
}

#[test]
fn a_load_failure_without_a_cause_is_recognized() {
    let exit = SchedulerExit::parse("Error: Failed to attach struct ops\nbye\n").unwrap();
    assert_eq!(
        exit.reason,
        ExitReason::LoadFailed(LoadFailure::Unexplained)
    );
    assert_eq!(exit.message, "Error: Failed to attach struct ops");
}

#[test]
fn an_empty_output_has_no_reason() {
    assert_eq!(SchedulerExit::parse(""), None);
    assert_eq!(SchedulerExit::parse(" \n\n"), None);
}

#[test]
fn an_exit_mark_inside_a_word_is_ignored() {
    let exit = SchedulerExit::parse("R notEXIT: runnable task stall\n").unwrap();
    assert!(matches!(exit.reason, ExitReason::Unknown(_)), "{exit:?}");
}

#[test]
fn the_reason_of_a_later_kernel_is_kept_as_text() {
    let exit = SchedulerExit::parse("EXIT: eaten by a grue (in the dark)\n").unwrap();
    assert_eq!(
        exit.reason,
        ExitReason::Unknown("eaten by a grue".to_owned())
    );
    assert_eq!(exit.message, "in the dark");
}

#[test]
fn only_detaching_is_benign_and_failures_have_a_remedy() {
    for (text, benign) in [
        ("unregistered from user space", true),
        ("unregistered from BPF", true),
        ("unregistered from the main kernel", true),
        ("disabled by sysrq-S", false),
        ("parent exiting", false),
        ("runtime error", false),
        ("scx_bpf_error", false),
        ("runnable task stall", false),
    ] {
        let reason = ExitReason::from_kernel(text, "");
        assert_eq!(reason.is_benign(), benign, "{text}");
        assert_eq!(reason.remedy().is_none(), benign, "{text}");
        assert!(!matches!(reason, ExitReason::Unknown(_)), "{text}");
    }
    assert!(
        ExitReason::from_kernel(
            "unregistered from the main kernel",
            "cpu 3 going online, exiting scheduler"
        )
        .is_benign()
    );
}

#[test]
fn only_the_end_of_a_long_output_is_read() {
    let noise = "é\n".repeat(MAX_OUTPUT / 3 + 1);
    let exit = SchedulerExit::parse(&format!("EXIT: runtime error\n{noise}")).unwrap();
    assert_eq!(exit.reason, ExitReason::Unknown("é".to_owned()));
    let exit = SchedulerExit::parse(&format!("{noise}EXIT: runtime error\n")).unwrap();
    assert_eq!(exit.reason, ExitReason::RuntimeError);
}

#[test]
fn a_reason_is_serialized_as_its_name() {
    let exit = SchedulerExit::parse(recorded!("scx_lab-1.0.0-busy").1).unwrap();
    assert_eq!(
        serde_json::to_value(exit).unwrap()["reason"],
        "LoadFailedBusy"
    );
}

proptest! {
    #[test]
    fn parsing_never_panics(output: String) {
        if let Some(exit) = SchedulerExit::parse(&output) {
            prop_assert!(!exit.message.contains(char::is_control));
            prop_assert!(!exit.reason.to_string().contains(char::is_control));
        }
    }

    #[test]
    fn what_follows_the_mark_is_never_dropped(reason in "[a-z ]{0,20}", message in "\\PC{0,300}") {
        let line = format!("12:00:00 [INFO] EXIT: {reason} ({message})");
        let exit = SchedulerExit::parse(&line).unwrap();
        prop_assert!(exit.message.chars().count() <= 201);
    }
}
