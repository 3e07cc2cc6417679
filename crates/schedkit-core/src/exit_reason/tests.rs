//! Whole outputs of schedulers, each a file under `tests/fixtures/last_words`, and what they mean.

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/fixtures/last_words/", $name, ".txt"))
    };
}

#[test]
fn real_endings_are_understood() {
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
            "runtime error",
            fixture!("runtime_error"),
            ExitReason::RuntimeError,
            "ops.init() failed (-2)",
        ),
        (
            "bpf error",
            fixture!("bpf_error"),
            ExitReason::BpfError,
            "lab: ordered to fail",
        ),
        ("sysrq", fixture!("sysrq"), ExitReason::SysRq, ""),
        (
            "hotplug",
            fixture!("hotplug"),
            ExitReason::Hotplug,
            "cpu 1 going offline, exiting scheduler",
        ),
        (
            "hotplug, then stopped",
            fixture!("hotplug_then_stopped"),
            ExitReason::Unregistered,
            "",
        ),
        ("stopped", fixture!("stopped"), ExitReason::Unregistered, ""),
        (
            "stopped, with a cpu",
            fixture!("stopped_cpu"),
            ExitReason::Unregistered,
            "",
        ),
        (
            "by bpf",
            fixture!("by_bpf"),
            ExitReason::UnregisteredByBpf,
            "lab: ordered to leave",
        ),
        (
            "by kernel",
            fixture!("by_kernel"),
            ExitReason::UnregisteredByKernel,
            "",
        ),
        ("parent", fixture!("parent"), ExitReason::ParentExiting, ""),
        (
            "verifier",
            fixture!("verifier"),
            ExitReason::LoadFailed(Load::Verifier),
            "invalid bpf_context access off=4096 size=8",
        ),
        (
            "kconfig",
            fixture!("kconfig"),
            ExitReason::LoadFailed(Load::Kconfig),
            "libbpf: failed to open system Kconfig",
        ),
        (
            "btf",
            fixture!("btf"),
            ExitReason::LoadFailed(Load::Btf),
            "libbpf: Error loading vmlinux BTF: -ESRCH",
        ),
        (
            "busy",
            fixture!("busy"),
            ExitReason::LoadFailed(Load::Busy),
            "Error: another sched_ext scheduler is already running",
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
        (
            "usage",
            fixture!("usage"),
            ExitReason::Unknown("For more information, try '--help'.".to_owned()),
            "For more information, try '--help'.",
        ),
    ] {
        let words = LastWords::parse(output).expect(name);
        assert_eq!(words.reason, reason, "{name}");
        assert_eq!(words.message, message, "{name}");
    }
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
    let words = LastWords::parse(fixture!("busy")).unwrap();
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
