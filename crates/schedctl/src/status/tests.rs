//! Every row of the truth table, and the names.

use schedkit_host::sched_ext::Events;
use schedkit_runtime::containerd::PodName;
use schedkit_runtime::{ContainerId, ExitCode, Record};

use super::*;

/// A kernel that says this.
pub(crate) fn kernel(
    state: SchedExtState,
    ops: Option<&str>,
    enable_seq: Option<u64>,
) -> Fact<SchedExt> {
    Fact::Known(SchedExt {
        state: Fact::Known(state),
        ops: ops.map_or(Fact::Absent, |ops| Fact::Known(ops.parse().unwrap())),
        switch_all: Fact::Known(true),
        nr_rejected: Fact::Known(0),
        hotplug_seq: Fact::Known(0),
        enable_seq: enable_seq.map_or(Fact::Absent, Fact::Known),
        events: ops.map_or(Fact::Absent, |_| Fact::Known(Events::parse("SCX_EV_A 1\n"))),
    })
}

/// A running container whose label says so.
pub(crate) fn held(runtime: Runtime, id: &str, scheduler: &str) -> Held {
    Held {
        runtime,
        container: Container {
            id: ContainerId::new(id),
            name: scheduler.to_owned(),
            record: Record {
                scheduler: Some(scheduler.to_owned()),
                ..Record::default()
            },
            image: "a.example/team/image:1.0".to_owned(),
            image_id: None,
            state: ContainerState::Running {
                pid: 1234,
                started: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            },
        },
    }
}

/// A scheduler that sked runs, in the pod `team/lab-x7`.
pub(crate) fn sked_pod(scheduler: &str) -> SkedPod {
    let mut held = held(Runtime::Containerd, "feedc0ffee012345", "scx");
    held.container.record = Record::default();
    held.container.image = format!("a.example/{scheduler}:1.0");
    SkedPod {
        held,
        pod: PodName {
            namespace: "team".to_owned(),
            name: "lab-x7".to_owned(),
        },
        daemonset: Some("lab".to_owned()),
        holds: Fact::Absent,
    }
}

fn podman(scheduler: &str) -> Held {
    held(Runtime::Podman, "0123456789abcdef", scheduler)
}

fn containerd(scheduler: &str) -> Held {
    held(Runtime::Containerd, "fedcba9876543210", scheduler)
}

fn enabled(ops: &str) -> Fact<SchedExt> {
    kernel(SchedExtState::Enabled, Some(ops), Some(4))
}

fn disabled() -> Fact<SchedExt> {
    kernel(SchedExtState::Disabled, None, Some(4))
}

fn in_state(one: Held, state: ContainerState) -> Held {
    let container = Container {
        state,
        ..one.container
    };
    Held { container, ..one }
}

#[test]
fn the_truth_table() {
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
        // No container of ours.
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
        let judgement = judge(&kernel, &ours, &Fact::Absent, None).unwrap();
        assert_eq!(judgement.status, status, "{kernel:?} {ours:?}");
        let agrees = matches!(status, Idle | Running);
        assert_eq!(judgement.discrepancy.is_none(), agrees, "{judgement:?}");
        assert_eq!(judgement.scheduler.is_some(), !ours.is_empty());
    }
}

#[test]
fn what_does_not_run_is_a_leftover_and_no_status() {
    let created = in_state(podman("scx_lab"), ContainerState::Created);
    let exited = in_state(containerd("scx_two"), ContainerState::Exited(ExitCode(1)));
    let judged = |kernel: &Fact<SchedExt>, ours: &[Held]| {
        let judgement = judge(kernel, ours, &Fact::Absent, None).unwrap();
        (judgement.status, judgement.remarks.join("; "))
    };
    let (status, said) = judged(&disabled(), std::slice::from_ref(&created));
    assert_eq!(status, Status::Idle);
    assert_eq!(
        said,
        "scx_lab (podman 0123456789ab) is left over and does not run: \
         `schedctl stop 0123456789ab -d podman` removes it"
    );
    let both = [created.clone(), exited.clone()];
    let (status, said) = judged(&enabled("lab_1.0"), &both);
    assert_eq!(status, Status::OrphanedKernelState);
    assert!(
        said.starts_with("2 containers of ours are left over"),
        "{said}"
    );
    let (status, said) = judged(&enabled("lab_1.0"), &[podman("scx_lab"), exited]);
    assert_eq!(status, Status::Running);
    assert!(said.contains("scx_two (containerd fedcba987654)"), "{said}");
}

#[test]
fn what_the_kernel_does_not_tell_is_not_guessed() {
    for (kernel, why) in [
        (
            Fact::Unreadable("denied".to_owned()),
            "cannot be read: denied",
        ),
        (Fact::Malformed("?".to_owned()), "makes no sense"),
        (
            kernel(SchedExtState::Unknown("resting".to_owned()), None, None),
            "calls its state \"resting\"",
        ),
    ] {
        for ours in [vec![], vec![podman("scx_lab")]] {
            let said = judge(&kernel, &ours, &Fact::Absent, None).unwrap_err();
            assert!(said.to_string().contains(why), "{said}");
        }
    }
    let Fact::Known(mut seen) = disabled() else {
        unreachable!()
    };
    seen.state = Fact::Absent;
    assert!(judge(&Fact::Known(seen), &[], &Fact::Absent, None).is_err());
}

/// The label, what was asked for, what that was, and what the runtime calls it: each may tell.
#[test]
fn any_name_of_the_container_may_be_the_kernels() {
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
            doubtful(&enabled("lab_1.0"), std::slice::from_ref(&one)),
            None
        );
        let ours = [one];
        let judgement = judge(&enabled("lab_1.0"), &ours, &Fact::Absent, None).unwrap();
        assert_eq!(judgement.status, Status::Running, "{ours:?}");
    }
}

/// A container whose image is called `scx_test` and whose scheduler calls itself `foo`.
#[test]
fn where_names_differ_the_process_decides() {
    let ours = [podman("scx_test")];
    let foo = enabled("foo");
    assert_eq!(doubtful(&foo, &ours), Some(1234));
    for (holds, status, said) in [
        (Fact::Known(true), Status::Running, "it names itself so"),
        (
            Fact::Known(false),
            Status::ManagedMismatch,
            "process holds no scheduler",
        ),
        (Fact::Absent, Status::ManagedMismatch, "only the names tell"),
        (
            Fact::Unreadable("denied".to_owned()),
            Status::ManagedMismatch,
            "could not be looked at (cannot be read: denied)",
        ),
    ] {
        let judgement = judge(&foo, &ours, &holds, None).unwrap();
        assert_eq!(judgement.status, status, "{holds:?}");
        let words = [judgement.remarks, Vec::from_iter(judgement.discrepancy)].concat();
        assert!(words.join(" ").contains(said), "{words:?}");
    }
}

#[test]
fn an_image_without_a_telling_name_is_never_accused_by_names() {
    let mut one = podman("x");
    one.container.record = Record::default();
    one.container.image = "sha256:0123".to_owned();
    let ours = [one];
    for (holds, status) in [
        (Fact::Absent, Status::Running),
        (Fact::Known(true), Status::Running),
        (Fact::Known(false), Status::ManagedMismatch),
    ] {
        let judgement = judge(&enabled("lab"), &ours, &holds, None).unwrap();
        assert_eq!(judgement.status, status, "{holds:?}");
        assert_eq!(judgement.remarks.is_empty(), status != Status::Running);
    }
}

#[test]
fn only_what_names_cannot_settle_is_doubtful() {
    let foo = enabled("foo");
    let two = [podman("scx_a"), containerd("scx_b")];
    assert_eq!(doubtful(&foo, &two), None);
    assert_eq!(doubtful(&disabled(), &two[..1]), None);
    assert_eq!(doubtful(&foo, &[]), None);
    let paused = in_state(podman("scx_a"), ContainerState::Other("paused".to_owned()));
    assert_eq!(doubtful(&foo, &[paused]), None);
}

#[test]
fn of_several_the_attached_one_is_meant() {
    let ours = [podman("scx_a"), containerd("scx_lab")];
    let judgement = judge(&enabled("lab_1.0"), &ours, &Fact::Absent, None).unwrap();
    assert_eq!(judgement.scheduler, Some(&ours[1]));
    let said = judgement.discrepancy.unwrap();
    assert_eq!(
        said,
        "2 containers of ours run, and the kernel takes one scheduler: scx_a (podman \
         0123456789ab), scx_lab (containerd fedcba987654); it has lab_1.0 attached; end all but \
         one with `schedctl stop ID`"
    );
    let judgement = judge(&disabled(), &ours, &Fact::Absent, None).unwrap();
    assert_eq!(judgement.scheduler, Some(&ours[0]));
}

#[test]
fn what_a_label_says_cannot_move_a_terminal() {
    let ours = [podman("scx\u{1b}[2J_lab")];
    let judgement = judge(&disabled(), &ours, &Fact::Absent, None).unwrap();
    assert!(!judgement.discrepancy.unwrap().contains('\u{1b}'));
}

#[test]
fn what_a_trial_goes_back_to_is_no_leftover() {
    let spare = in_state(podman("scx_a"), ContainerState::Exited(ExitCode(0)));
    let ours = [spare, containerd("scx_lab")];
    let id = &ours[0].container.id;
    let judged = |spare| judge(&enabled("lab"), &ours, &Fact::Absent, spare).unwrap();
    assert_eq!(judged(Some(id)).remarks, Vec::<String>::new());
    assert_eq!(judged(None).remarks.len(), 1);
}
