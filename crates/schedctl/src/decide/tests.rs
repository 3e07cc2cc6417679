//! The decision table of `decide.rs`, row by row.

use schedkit_host::SchedExtState as KernelState;
use schedkit_runtime::{Container, ContainerId, ContainerState, ExitCode, Ownership, Record};

use super::*;
use crate::fixtures::{self, sked_pod};
use crate::trial::Trial;

fn kernel(ops: Option<&str>) -> Fact<KernelSchedExt> {
    let state = match ops {
        Some(_) => KernelState::Enabled,
        None => KernelState::Disabled,
    };
    Fact::Known(KernelSchedExt {
        state: Fact::Known(state),
        ops: ops.map_or(Fact::Absent, |ops| Fact::Known(ops.parse().unwrap())),
        switch_all: Fact::Absent,
        nr_rejected: Fact::Absent,
        hotplug_seq: Fact::Absent,
        enable_seq: Fact::Known(3),
        events: Fact::Absent,
    })
}

fn digest() -> String {
    format!("sha256:{}", "a".repeat(64))
}

fn container(name: &str, state: ContainerState) -> RuntimeContainer {
    RuntimeContainer {
        runtime: Runtime::Podman,
        container: Container {
            id: ContainerId::new(format!("{name}-id")),
            name: format!("schedkit-{name}-1"),
            ownership: Ownership::Ours,
            record: Record {
                scheduler: Some(name.to_owned()),
                requested: Some(format!("example.org/{name}:1")),
                image: Some(format!("example.org/{name}@{}", digest())),
                trust: Some(Trust::Verified {
                    signer: "somebody".to_owned(),
                    policy: "a fingerprint".to_owned(),
                }),
                ..Record::default()
            },
            image: String::new(),
            image_id: None,
            state,
        },
    }
}

fn running(name: &str) -> RuntimeContainer {
    container(
        name,
        ContainerState::Running {
            pid: 1,
            started: None,
        },
    )
}

fn desired(name: &str) -> DesiredScheduler {
    DesiredScheduler {
        name: name.to_owned(),
        reference: format!("example.org/{name}:1").parse().unwrap(),
        image: None,
        args: Vec::new(),
        waiver: None,
        trial: None,
        runtime: Runtime::Podman,
    }
}

fn observed(ops: Option<&str>, containers: Vec<RuntimeContainer>) -> Observed {
    Observed {
        kernel: kernel(ops),
        containers,
        sked: Vec::new(),
        holds_scheduler: Fact::Absent,
        trial: None,
    }
}

fn refusal(observed: &Observed, mode: StartMode) -> String {
    decide(observed, &desired("scx_a"), mode)
        .unwrap_err()
        .to_string()
}

#[test]
fn if_nothing_runs_it_starts_and_leftovers_are_removed() {
    let left = [
        container("x", ContainerState::Created),
        container("y", ContainerState::Exited(ExitCode(1))),
    ];
    let observed = observed(None, left.to_vec());
    for mode in [StartMode::Run, StartMode::Switch] {
        let decision = decide(&observed, &desired("scx_a"), mode).unwrap();
        let start = Decision::Start {
            leftovers: left.to_vec(),
            replaces: None,
        };
        assert_eq!(decision, start);
    }
}

#[test]
fn a_scheduler_that_runs_already_is_not_restarted() {
    let observed = observed(Some("a_1.1.4_x86_64"), vec![running("scx_a")]);
    for mode in [StartMode::Run, StartMode::Switch] {
        let decision = decide(&observed, &desired("scx_a"), mode).unwrap();
        assert!(matches!(decision, Decision::AlreadyRuns(_)), "{decision:?}");
    }
}

#[test]
fn another_scheduler_is_replaced_only_by_switch() {
    let observed = observed(Some("b"), vec![running("scx_b")]);
    let text = refusal(&observed, StartMode::Run);
    assert!(
        text.starts_with("scx_b runs already: `schedctl switch scx_a` replaces it"),
        "{text}"
    );
    let decision = decide(&observed, &desired("scx_a"), StartMode::Switch).unwrap();
    let replaces = Some(running("scx_b"));
    assert_eq!(
        decision,
        Decision::Start {
            leftovers: Vec::new(),
            replaces
        }
    );
}

#[test]
fn other_arguments_or_another_version_are_a_difference() {
    let observed = observed(Some("a"), vec![running("scx_a")]);
    let mut arguments = desired("scx_a");
    arguments.args = vec!["-v".to_owned()];
    let text = decide(&observed, &arguments, StartMode::Run).unwrap_err();
    assert!(text.to_string().contains("with no arguments"), "{text}");
    let mut version = desired("scx_a");
    version.reference = "example.org/scx_a:2".parse().unwrap();
    let text = decide(&observed, &version, StartMode::Run).unwrap_err();
    assert!(
        text.to_string()
            .contains("with the image example.org/scx_a:1"),
        "{text}"
    );
}

/// What `run` and `switch` answer if scx_a runs, changed by `change`.
fn answers(
    change: impl Fn(&mut Observed, &mut DesiredScheduler),
) -> [Result<Decision, Refusal>; 2] {
    [StartMode::Run, StartMode::Switch].map(|mode| {
        let mut observed = observed(Some("a"), vec![running("scx_a")]);
        let mut desired = desired("scx_a");
        change(&mut observed, &mut desired);
        decide(&observed, &desired, mode)
    })
}

fn trial_of(scheduler: &str) -> Trial {
    Trial {
        scheduler: scheduler.to_owned(),
        ..fixtures::trial(&format!("{scheduler}-id"))
    }
}

#[test]
fn what_runs_unverified_is_not_what_run_was_asked_for() {
    for (trust, part) in [
        (
            Some(Trust::Waived("--allow-unsigned".to_owned())),
            "--allow-unsigned",
        ),
        (None, "no verification is recorded"),
    ] {
        let with_trust = |observed: &mut Observed, waiver, desired: &mut DesiredScheduler| {
            observed.containers[0].container.record.trust = trust.clone();
            desired.waiver = waiver;
        };
        let [run, switch] = answers(|observed, desired| with_trust(observed, None, desired));
        let refusal = run.unwrap_err();
        assert!(matches!(refusal, Refusal::Unverified { .. }), "{refusal}");
        assert!(refusal.to_string().contains(part), "{refusal}");
        // It verifies the image, and replaces the container.
        assert!(
            matches!(
                switch,
                Ok(Decision::Start {
                    replaces: Some(_),
                    ..
                })
            ),
            "{switch:?}"
        );
        // Not attached: it has to be started again in any case.
        for again in answers(|observed, desired| {
            with_trust(observed, None, desired);
            observed.kernel = kernel(None);
        }) {
            assert!(matches!(again, Ok(Decision::Start { .. })), "{again:?}");
        }
        for waived in answers(|observed, desired| with_trust(observed, Some("flag"), desired)) {
            assert!(matches!(waived, Ok(Decision::AlreadyRuns(_))), "{waived:?}");
        }
    }
}

#[test]
fn what_runs_on_trial_is_what_was_asked_for_only_with_trial() {
    let minute = Some(Duration::from_secs(60));
    for answer in answers(|observed, _| observed.trial = Some(trial_of("scx_a"))) {
        assert!(matches!(answer, Err(Refusal::OnTrial { .. })), "{answer:?}");
    }
    for answer in answers(|observed, desired| {
        observed.trial = Some(trial_of("scx_a"));
        desired.trial = minute;
    }) {
        let Ok(Decision::AlreadyRuns(running)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(running.trial_until, Some(trial_of("scx_a").until));
    }
    for answer in answers(|observed, desired| {
        observed.trial = Some(trial_of("scx_b"));
        desired.trial = minute;
    }) {
        assert!(matches!(answer, Err(Refusal::OnTrial { .. })), "{answer:?}");
    }
    for answer in answers(|_, desired| desired.trial = minute) {
        assert!(
            matches!(answer, Err(Refusal::NotOnTrial { .. })),
            "{answer:?}"
        );
    }
}

#[test]
fn a_digest_in_the_request_is_compared_with_what_runs() {
    let by = |digest: String| {
        move |_: &mut Observed, desired: &mut DesiredScheduler| {
            desired.reference = format!("example.org/scx_a@{digest}").parse().unwrap();
        }
    };
    for same in answers(by(digest())) {
        assert!(matches!(same, Ok(Decision::AlreadyRuns(_))), "{same:?}");
    }
    let [run, switch] = answers(by(digest().replace("aaaa", "bbbb")));
    assert!(matches!(run, Err(Refusal::OtherVariant { .. })), "{run:?}");
    assert!(matches!(switch, Ok(Decision::Start { .. })), "{switch:?}");
}

/// Of an older schedctl, or of somebody else.
#[test]
fn a_container_that_is_not_certainly_ours_is_never_replaced_or_removed() {
    let unproven = |observed: &mut Observed| {
        observed.containers[0].container.ownership = Ownership::Unproven;
    };
    let [run, switch] = answers(|observed, _| unproven(observed));
    assert!(matches!(run, Err(Refusal::UnknownTrust { .. })), "{run:?}");
    assert!(
        matches!(switch, Err(Refusal::Unproven { .. })),
        "{switch:?}"
    );
    // Not attached.
    let refused = answers(|observed, desired| {
        unproven(observed);
        observed.kernel = kernel(None);
        desired.waiver = Some("flag");
    });
    for answer in refused {
        assert!(
            matches!(answer, Err(Refusal::Unproven { .. })),
            "{answer:?}"
        );
    }
    let exited = ContainerState::Exited(ExitCode(0));
    for answer in answers(|observed, _| {
        unproven(observed);
        observed.containers[0].container.state = exited.clone();
        observed.kernel = kernel(None);
    }) {
        let start = Decision::Start {
            leftovers: Vec::new(),
            replaces: None,
        };
        assert_eq!(answer, Ok(start));
    }
}

#[test]
fn a_moved_tag_is_another_image_only_for_switch() {
    let observed = observed(Some("a"), vec![running("scx_a")]);
    let mut moved = desired("scx_a");
    moved.image = Some("example.org/scx_a@sha256:new".to_owned());
    let decision = decide(&observed, &moved, StartMode::Run).unwrap();
    assert!(matches!(decision, Decision::AlreadyRuns(_)));
    let decision = decide(&observed, &moved, StartMode::Switch).unwrap();
    assert!(matches!(decision, Decision::Start { .. }));
}

#[test]
fn leftovers_of_the_other_runtime_are_kept() {
    let mut left = container("x", ContainerState::Created);
    left.runtime = Runtime::Containerd;
    let observed = observed(None, vec![left]);
    let decision = decide(&observed, &desired("scx_a"), StartMode::Run).unwrap();
    let start = Decision::Start {
        leftovers: Vec::new(),
        replaces: None,
    };
    assert_eq!(decision, start);
}

#[test]
fn a_container_that_is_not_attached_is_removed() {
    let observed = observed(None, vec![running("scx_a")]);
    let decision = decide(&observed, &desired("scx_a"), StartMode::Run).unwrap();
    let leftovers = vec![running("scx_a")];
    assert_eq!(
        decision,
        Decision::Start {
            leftovers,
            replaces: None
        }
    );
    let text = decide(&observed, &desired("scx_c"), StartMode::Run).unwrap_err();
    assert!(matches!(text, Refusal::OtherRuns { .. }));
}

#[test]
fn a_foreign_scheduler_is_a_refusal() {
    for ours in [vec![], vec![running("scx_a")]] {
        let observed = observed(Some("foreign"), ours);
        for mode in [StartMode::Run, StartMode::Switch] {
            let text = refusal(&observed, mode);
            assert!(text.starts_with("the kernel runs foreign"), "{text}");
        }
    }
}

#[test]
fn a_process_that_holds_a_scheduler_counts_whatever_its_name() {
    let mut observed = observed(Some("foreign"), vec![running("scx_a")]);
    observed.holds_scheduler = Fact::Known(true);
    let decision = decide(&observed, &desired("scx_a"), StartMode::Run).unwrap();
    assert!(matches!(decision, Decision::AlreadyRuns(_)));
}

#[test]
fn several_containers_another_runtime_and_a_trial_are_refusals() {
    let two = observed(Some("a"), vec![running("scx_a"), running("scx_b")]);
    assert!(refusal(&two, StartMode::Switch).starts_with("scx_a and scx_b run at once"));
    let mut other = running("scx_a");
    other.runtime = Runtime::Containerd;
    let other = observed(Some("a"), vec![other]);
    assert!(refusal(&other, StartMode::Switch).contains("`--driver containerd`"));
    let mut trial = observed(Some("b"), vec![running("scx_b")]);
    trial.trial = Some(trial_of("scx_b"));
    assert!(refusal(&trial, StartMode::Switch).starts_with("scx_b is on trial"));
}

#[test]
fn an_unreadable_kernel_state_is_a_refusal() {
    let mut unreadable = observed(None, Vec::new());
    unreadable.kernel = Fact::Unreadable("no".to_owned());
    let text = refusal(&unreadable, StartMode::Run);
    assert!(
        text.starts_with("cannot determine what the kernel runs"),
        "{text}"
    );
}

#[test]
fn the_fallback_of_a_trial_is_not_a_leftover() {
    let mut observed = observed(
        None,
        vec![container("old", ContainerState::Exited(ExitCode(0)))],
    );
    assert_eq!(observed.leftovers().count(), 1);
    observed.trial = Some(Trial {
        before: Some(ContainerId::new("old-id")),
        ..trial_of("scx_b")
    });
    assert_eq!(observed.leftovers().count(), 0);
}

#[test]
fn a_scheduler_of_sked_is_a_refusal_that_names_the_pod() {
    for mode in [StartMode::Run, StartMode::Switch] {
        let with_pod = |ops, ours| Observed {
            sked: vec![sked_pod("scx_lab")],
            ..observed(ops, ours)
        };
        // sked's scheduler is attached, with and without a container of schedctl.
        for ours in [vec![], vec![running("scx_b")]] {
            assert_eq!(
                refusal(&with_pod(Some("lab_1.0"), ours), mode),
                "the kernel runs lab_1.0 for sked (pod team/lab-x7, DaemonSet team/lab), which \
                 schedctl does not change: change it in the cluster with `kubectl -n team edit \
                 schedext lab` (if the SchedExt has pools, this name is SCHEDEXT-POOL)"
            );
        }
        let starting = refusal(&with_pod(None, vec![]), mode);
        assert!(
            starting.contains("sked runs a scheduler here (pod team/lab-x7"),
            "{starting}"
        );
        // A foreign scheduler is not taken for sked's.
        let foreign = refusal(&with_pod(Some("other_1.0"), vec![]), mode);
        assert!(
            foreign.contains("which schedctl did not start"),
            "{foreign}"
        );
        // schedctl's is attached, so sked's pod does not matter.
        let ours = with_pod(Some("a_1.0"), vec![running("scx_a")]);
        assert!(decide(&ours, &desired("scx_a"), mode).is_ok());
    }
}
