//! Every row of the decision table, and the names.

use schedkit_host::SchedExtState;
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, ContainerState, ExitCode, Record};

use super::*;
use crate::fixtures::{kernel, runtime_container};

fn podman(scheduler: &str) -> RuntimeContainer {
    runtime_container(Runtime::Podman, "0123456789abcdef", scheduler)
}

fn containerd(scheduler: &str) -> RuntimeContainer {
    runtime_container(Runtime::Containerd, "fedcba9876543210", scheduler)
}

fn enabled(ops: &str) -> Fact<KernelSchedExt> {
    kernel(SchedExtState::Enabled, Some(ops), Some(4))
}

fn disabled() -> Fact<KernelSchedExt> {
    kernel(SchedExtState::Disabled, None, Some(4))
}

fn in_state(one: RuntimeContainer, state: ContainerState) -> RuntimeContainer {
    let container = Container {
        state,
        ..one.container
    };
    RuntimeContainer { container, ..one }
}

#[test]
fn the_decision_table() {
    use Status::*;
    let nameless = kernel(SchedExtState::Enabled, None, Some(4));
    let enabling = kernel(SchedExtState::Enabling, None, Some(4));
    let prepping = kernel(SchedExtState::Prepping, None, Some(4));
    let disabling = kernel(SchedExtState::Disabling, Some("lab_1.0"), Some(4));
    let lab = || podman("scx_lab");
    let paused = || {
        in_state(
            podman("scx_lab"),
            ContainerState::Other("paused".to_owned()),
        )
    };
    for (kernel, ours, status) in [
        // No container.
        (Fact::Absent, vec![], Idle),
        (disabled(), vec![], Idle),
        (enabling.clone(), vec![], OrphanedKernelState),
        (prepping.clone(), vec![], OrphanedKernelState),
        (disabling.clone(), vec![], OrphanedKernelState),
        (enabled("lab_1.0"), vec![], OrphanedKernelState),
        (nameless.clone(), vec![], OrphanedKernelState),
        // One.
        (Fact::Absent, vec![lab()], ManagedDetached),
        (disabled(), vec![lab()], ManagedDetached),
        (disabled(), vec![paused()], ManagedDetached),
        (enabling.clone(), vec![lab()], ManagedDetached),
        (disabling.clone(), vec![lab()], ManagedDetached),
        (enabled("lab_1.0"), vec![lab()], Running),
        (enabled("lab_1.0"), vec![paused()], Running),
        (enabled("lab_1.0"), vec![containerd("scx_lab")], Running),
        (enabled("other_1.0"), vec![lab()], ManagedMismatch),
        (nameless.clone(), vec![lab()], Running),
        // Several, of one runtime or of both.
        (Fact::Absent, vec![lab(), lab()], MultipleManaged),
        (disabled(), vec![lab(), lab()], MultipleManaged),
        (enabling, vec![lab(), lab()], MultipleManaged),
        (
            enabled("lab_1.0"),
            vec![lab(), containerd("scx_lab")],
            MultipleManaged,
        ),
        (
            enabled("other"),
            vec![lab(), containerd("scx_lab")],
            MultipleManaged,
        ),
        (nameless, vec![lab(), lab()], MultipleManaged),
    ] {
        let assessment = assess(&kernel, &ours, &Fact::Absent, None).unwrap();
        assert_eq!(assessment.status, status, "{kernel:?} {ours:?}");
        let agrees = matches!(status, Idle | Running);
        assert_eq!(assessment.discrepancy.is_none(), agrees, "{assessment:?}");
        assert_eq!(assessment.container.is_some(), !ours.is_empty());
    }
}

#[test]
fn a_container_that_does_not_run_is_a_warning_not_a_status() {
    let created = in_state(podman("scx_lab"), ContainerState::Created);
    let exited = in_state(containerd("scx_two"), ContainerState::Exited(ExitCode(1)));
    let assessed = |kernel: &Fact<KernelSchedExt>, ours: &[RuntimeContainer]| {
        let assessment = assess(kernel, ours, &Fact::Absent, None).unwrap();
        (assessment.status, assessment.warnings.join("; "))
    };
    let (status, text) = assessed(&disabled(), std::slice::from_ref(&created));
    assert_eq!(status, Status::Idle);
    assert_eq!(
        text,
        "scx_lab (podman 0123456789ab) is left over and does not run: \
         `schedctl stop 0123456789ab -d podman` removes it"
    );
    let both = [created.clone(), exited.clone()];
    let (status, text) = assessed(&enabled("lab_1.0"), &both);
    assert_eq!(status, Status::OrphanedKernelState);
    assert!(
        text.starts_with("2 containers of schedctl are left over"),
        "{text}"
    );
    let (status, text) = assessed(&enabled("lab_1.0"), &[podman("scx_lab"), exited]);
    assert_eq!(status, Status::Running);
    assert!(text.contains("scx_two (containerd fedcba987654)"), "{text}");
}

/// Such as one of an older schedctl: shown like ours, with a warning.
#[test]
fn a_running_container_that_is_not_certainly_ours_is_a_warning() {
    let mut older = podman("scx_lab");
    older.container.ownership = schedkit_runtime::Ownership::Unproven;
    let containers = [older];
    let assessment = assess(&enabled("lab_1.0"), &containers, &Fact::Absent, None).unwrap();
    assert_eq!(assessment.status, Status::Running);
    let warnings = assessment.warnings.join("; ");
    assert_eq!(
        warnings,
        "scx_lab (podman 0123456789ab) was created by an older schedctl or by somebody else: \
         whether its image was verified is unknown, and nothing but `schedctl stop 0123456789ab -d \
         podman` removes it"
    );
}

#[test]
fn an_unreadable_kernel_state_is_an_error() {
    for (kernel, why) in [
        (
            Fact::Unreadable("denied".to_owned()),
            "cannot be read: denied",
        ),
        (Fact::Malformed("?".to_owned()), "is malformed"),
        (
            kernel(SchedExtState::Unknown("resting".to_owned()), None, None),
            "its state is \"resting\"",
        ),
    ] {
        for ours in [vec![], vec![podman("scx_lab")]] {
            let text = assess(&kernel, &ours, &Fact::Absent, None).unwrap_err();
            assert!(text.to_string().contains(why), "{text}");
        }
    }
    let Fact::Known(mut seen) = disabled() else {
        unreachable!()
    };
    seen.state = Fact::Absent;
    assert!(assess(&Fact::Known(seen), &[], &Fact::Absent, None).is_err());
}

/// The label, the requested reference, the digest reference and the runtime's image name.
#[test]
fn any_name_of_the_container_may_match() {
    let mut by_runtime = podman("something");
    by_runtime.container.image = "a.example/team/scx_lab:1.0".to_owned();
    let mut by_request = podman("something");
    by_request.container.record.requested = Some("a.example/scx_lab".to_owned());
    let mut by_digest = podman("something");
    let digest = format!("a.example/scx_lab@sha256:{}", "0".repeat(64));
    by_digest.container.record.image = Some(digest);
    let mut older = podman("something");
    older.container.record = Record::default();
    older.container.image = "a.example/scx_lab:1.0".to_owned();
    for one in [
        podman("lab"),
        podman("scx-lab"),
        by_runtime,
        by_request,
        by_digest,
        older,
    ] {
        assert_eq!(
            process_to_inspect(&enabled("lab_1.0"), std::slice::from_ref(&one)),
            None
        );
        let ours = [one];
        let assessment = assess(&enabled("lab_1.0"), &ours, &Fact::Absent, None).unwrap();
        assert_eq!(assessment.status, Status::Running, "{ours:?}");
    }
}

/// The image is `scx_test` and the ops name is `foo`.
#[test]
fn if_names_differ_the_process_decides() {
    let ours = [podman("scx_test")];
    let foo = enabled("foo");
    assert_eq!(process_to_inspect(&foo, &ours), Some(1234));
    for (holds, status, text) in [
        (
            Fact::Known(true),
            Status::Running,
            "the name that it registered",
        ),
        (
            Fact::Known(false),
            Status::ManagedMismatch,
            "process holds no scheduler",
        ),
        (
            Fact::Absent,
            Status::ManagedMismatch,
            "only the names were compared",
        ),
        (
            Fact::Unreadable("denied".to_owned()),
            Status::ManagedMismatch,
            "could not be inspected (cannot be read: denied)",
        ),
    ] {
        let assessment = assess(&foo, &ours, &holds, None).unwrap();
        assert_eq!(assessment.status, status, "{holds:?}");
        let texts = [assessment.warnings, Vec::from_iter(assessment.discrepancy)].concat();
        assert!(texts.join(" ").contains(text), "{texts:?}");
    }
}

#[test]
fn an_image_without_a_name_is_not_a_mismatch_by_name() {
    let mut one = podman("x");
    one.container.record = Record::default();
    one.container.image = "sha256:0123".to_owned();
    let ours = [one];
    for (holds, status) in [
        (Fact::Absent, Status::Running),
        (Fact::Known(true), Status::Running),
        (Fact::Known(false), Status::ManagedMismatch),
    ] {
        let assessment = assess(&enabled("lab"), &ours, &holds, None).unwrap();
        assert_eq!(assessment.status, status, "{holds:?}");
        assert_eq!(assessment.warnings.is_empty(), status != Status::Running);
    }
}

#[test]
fn a_process_is_inspected_only_if_names_do_not_decide() {
    let foo = enabled("foo");
    let two = [podman("scx_a"), containerd("scx_b")];
    assert_eq!(process_to_inspect(&foo, &two), None);
    assert_eq!(process_to_inspect(&disabled(), &two[..1]), None);
    assert_eq!(process_to_inspect(&foo, &[]), None);
    let paused = in_state(podman("scx_a"), ContainerState::Other("paused".to_owned()));
    assert_eq!(process_to_inspect(&foo, &[paused]), None);
}

#[test]
fn of_several_the_attached_one_is_the_subject() {
    let ours = [podman("scx_a"), containerd("scx_lab")];
    let assessment = assess(&enabled("lab_1.0"), &ours, &Fact::Absent, None).unwrap();
    assert_eq!(assessment.container, Some(&ours[1]));
    let text = assessment.discrepancy.unwrap();
    assert_eq!(
        text,
        "2 containers of schedctl run, but the kernel attaches one scheduler: scx_a (podman \
         0123456789ab), scx_lab (containerd fedcba987654); it has lab_1.0 attached; stop all but \
         one with `schedctl stop ID`"
    );
    let assessment = assess(&disabled(), &ours, &Fact::Absent, None).unwrap();
    assert_eq!(assessment.container, Some(&ours[0]));
}

#[test]
fn a_label_cannot_control_a_terminal() {
    let ours = [podman("scx\u{1b}[2J_lab")];
    let assessment = assess(&disabled(), &ours, &Fact::Absent, None).unwrap();
    assert!(!assessment.discrepancy.unwrap().contains('\u{1b}'));
}

#[test]
fn the_fallback_of_a_trial_is_not_a_leftover() {
    let fallback = in_state(podman("scx_a"), ContainerState::Exited(ExitCode(0)));
    let ours = [fallback, containerd("scx_lab")];
    let id = &ours[0].container.id;
    let assessed = |fallback| assess(&enabled("lab"), &ours, &Fact::Absent, fallback).unwrap();
    assert_eq!(assessed(Some(id)).warnings, Vec::<String>::new());
    assert_eq!(assessed(None).warnings.len(), 1);
}
