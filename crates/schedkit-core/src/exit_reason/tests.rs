//! Whole outputs of schedulers, each a file under `tests/fixtures/last_words`, and what they mean.

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/fixtures/last_words/", $name, ".txt"))
    };
}

/// What was recorded in a virtual machine; see the README beside the files.
macro_rules! recorded {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../tests/fixtures/last_words/6.18.15+deb13-cloud-amd64/",
                $name,
                ".txt"
            )),
        )
    };
}

#[test]
fn recorded_endings_are_understood() {
    use LoadFailure as Load;
    for ((name, output), reason, message) in [
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
    ] {
        let words = LastWords::parse(output).expect(name);
        assert_eq!(words.reason, reason, "{name}");
        assert_eq!(words.message, message, "{name}");
    }
}

/// Some of the same ends were recorded on other kernels, whose words differ where they name
/// processes.
#[test]
fn every_kernel_is_understood_alike() {
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/last_words");
    let known = std::path::Path::new(all).join("6.18.15+deb13-cloud-amd64");
    let inside = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.collect::<Vec<_>>()
    };
    let reason = |path: &std::path::Path| {
        let output = std::fs::read_to_string(path).unwrap();
        LastWords::parse(&output).unwrap().reason
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
fn endings_that_no_lab_can_produce_are_understood() {
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
            "permission",
            fixture!("permission"),
            ExitReason::LoadFailed(Load::Permission),
            "libbpf: prog 'lab_init': BPF program load failed: -EPERM",
        ),
    ] {
        let words = LastWords::parse(output).expect(name);
        assert_eq!(words.reason, reason, "{name}");
        assert_eq!(words.message, message, "{name}");
    }
}

#[test]
fn a_failure_without_a_cause_is_one_all_the_same() {
    let words = LastWords::parse("Error: Failed to attach struct ops\nbye\n").unwrap();
    assert_eq!(
        words.reason,
        ExitReason::LoadFailed(LoadFailure::Unexplained)
    );
    assert_eq!(words.message, "Error: Failed to attach struct ops");
}

#[test]
fn silence_is_no_reason() {
    assert_eq!(LastWords::parse(""), None);
    assert_eq!(LastWords::parse(" \n\n"), None);
}

#[test]
fn a_name_that_looks_like_an_exit_is_none() {
    let words = LastWords::parse("R notEXIT: runnable task stall\n").unwrap();
    assert!(matches!(words.reason, ExitReason::Unknown(_)), "{words:?}");
}

#[test]
fn words_of_a_later_kernel_stay_what_they_are() {
    let words = LastWords::parse("EXIT: eaten by a grue (in the dark)\n").unwrap();
    assert_eq!(
        words.reason,
        ExitReason::Unknown("eaten by a grue".to_owned())
    );
    assert_eq!(words.message, "in the dark");
}

#[test]
fn only_letting_go_is_benign_and_failures_have_a_remedy() {
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
    let noise = "é\n".repeat(LONGEST / 3 + 1);
    let words = LastWords::parse(&format!("EXIT: runtime error\n{noise}")).unwrap();
    assert_eq!(words.reason, ExitReason::Unknown("é".to_owned()));
    let words = LastWords::parse(&format!("{noise}EXIT: runtime error\n")).unwrap();
    assert_eq!(words.reason, ExitReason::RuntimeError);
}

#[test]
fn machines_get_one_word() {
    let words = LastWords::parse(recorded!("scx_lab-1.0.0-busy").1).unwrap();
    assert_eq!(
        serde_json::to_value(words).unwrap()["reason"],
        "LoadFailedBusy"
    );
}

proptest! {
    #[test]
    fn no_output_makes_it_stumble(output: String) {
        if let Some(words) = LastWords::parse(&output) {
            prop_assert!(!words.message.contains(char::is_control));
            prop_assert!(!words.reason.to_string().contains(char::is_control));
        }
    }

    #[test]
    fn what_follows_the_mark_is_never_dropped(reason in "[a-z ]{0,20}", message in "\\PC{0,300}") {
        let line = format!("12:00:00 [INFO] EXIT: {reason} ({message})");
        let words = LastWords::parse(&line).unwrap();
        prop_assert!(words.message.chars().count() <= 201);
    }
}
