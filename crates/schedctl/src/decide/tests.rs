//! The table above, row by row.

use jiff::Timestamp;
use schedkit_host::SchedExtState;
use schedkit_runtime::{Container, ContainerId, ContainerState, ExitCode, Record};

use super::*;
use crate::status::sked_pod;
use crate::trial::{Stage, Trial};

fn kernel(ops: Option<&str>) -> Fact<SchedExt> {
    let state = match ops {
        Some(_) => SchedExtState::Enabled,
        None => SchedExtState::Disabled,
    };
    Fact::Known(SchedExt {
        state: Fact::Known(state),
        ops: ops.map_or(Fact::Absent, |ops| Fact::Known(ops.parse().unwrap())),
        switch_all: Fact::Absent,
        nr_rejected: Fact::Absent,
        hotplug_seq: Fact::Absent,
        enable_seq: Fact::Known(3),
        events: Fact::Absent,
    })
}

fn held(name: &str, state: ContainerState) -> Held {
    Held {
        runtime: Runtime::Podman,
        container: Container {
            id: ContainerId::new(format!("{name}-id")),
            name: format!("schedkit-{name}-1"),
            record: Record {
                scheduler: Some(name.to_owned()),
                requested: Some(format!("example.org/{name}:1")),
                ..Record::default()
            },
            image: String::new(),
            image_id: None,
            state,
        },
    }
}

fn running(name: &str) -> Held {
    held(
        name,
        ContainerState::Running {
            pid: 1,
            started: None,
        },
    )
}

fn wanted(name: &str) -> Wanted {
    Wanted {
        scheduler: name.to_owned(),
        reference: format!("example.org/{name}:1"),
        image: None,
        args: Vec::new(),
        runtime: Runtime::Podman,
    }
}

fn observed(ops: Option<&str>, ours: Vec<Held>) -> Observed {
    Observed {
        kernel: kernel(ops),
        ours,
        sked: Vec::new(),
        holds: Fact::Absent,
        trial: None,
    }
}

fn refusal(observed: &Observed, manner: Manner) -> String {
    decide(observed, &wanted("scx_a"), manner)
        .unwrap_err()
        .to_string()
}

#[test]
fn nothing_runs_so_it_starts_and_leftovers_go() {
    let left = [
        held("x", ContainerState::Created),
        held("y", ContainerState::Exited(ExitCode(1))),
    ];
    let observed = observed(None, left.to_vec());
    for manner in [Manner::Join, Manner::Replace] {
        let decision = decide(&observed, &wanted("scx_a"), manner).unwrap();
        let start = Decision::Start {
            leftovers: left.to_vec(),
            replaces: None,
        };
        assert_eq!(decision, start);
    }
}

#[test]
fn what_runs_already_is_left_alone() {
    let observed = observed(Some("a_1.1.4_x86_64"), vec![running("scx_a")]);
    for manner in [Manner::Join, Manner::Replace] {
        let decision = decide(&observed, &wanted("scx_a"), manner).unwrap();
        assert!(matches!(decision, Decision::Runs(_)), "{decision:?}");
    }
}

#[test]
fn another_is_replaced_only_by_a_switch() {
    let observed = observed(Some("b"), vec![running("scx_b")]);
    let said = refusal(&observed, Manner::Join);
    assert!(
        said.starts_with("scx_b runs already: `schedctl switch scx_a` replaces it"),
        "{said}"
    );
    let decision = decide(&observed, &wanted("scx_a"), Manner::Replace).unwrap();
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
fn other_words_or_another_version_are_not_the_same() {
    let observed = observed(Some("a"), vec![running("scx_a")]);
    let mut words = wanted("scx_a");
    words.args = vec!["-v".to_owned()];
    let said = decide(&observed, &words, Manner::Join).unwrap_err();
    assert!(said.to_string().contains("with no arguments"), "{said}");
    let mut version = wanted("scx_a");
    version.reference = "example.org/scx_a:2".to_owned();
    let said = decide(&observed, &version, Manner::Join).unwrap_err();
    assert!(
        said.to_string()
            .contains("with the image example.org/scx_a:1"),
        "{said}"
    );
}

#[test]
fn a_tag_that_moved_is_another_image_only_for_a_switch() {
    let observed = observed(Some("a"), vec![running("scx_a")]);
    let mut moved = wanted("scx_a");
    moved.image = Some("example.org/scx_a@sha256:new".to_owned());
    let decision = decide(&observed, &moved, Manner::Join).unwrap();
    assert!(matches!(decision, Decision::Runs(_)));
    let decision = decide(&observed, &moved, Manner::Replace).unwrap();
    assert!(matches!(decision, Decision::Start { .. }));
}

#[test]
fn what_the_other_runtime_left_is_not_ours_to_clear() {
    let mut left = held("x", ContainerState::Created);
    left.runtime = Runtime::Containerd;
    let observed = observed(None, vec![left]);
    let decision = decide(&observed, &wanted("scx_a"), Manner::Join).unwrap();
    let start = Decision::Start {
        leftovers: Vec::new(),
        replaces: None,
    };
    assert_eq!(decision, start);
}

#[test]
fn one_that_the_kernel_does_not_run_is_cleared_away() {
    let observed = observed(None, vec![running("scx_a")]);
    let decision = decide(&observed, &wanted("scx_a"), Manner::Join).unwrap();
    let leftovers = vec![running("scx_a")];
    assert_eq!(
        decision,
        Decision::Start {
            leftovers,
            replaces: None
        }
    );
    let said = decide(&observed, &wanted("scx_c"), Manner::Join).unwrap_err();
    assert!(matches!(said, Refusal::OtherRuns { .. }));
}

#[test]
fn a_stranger_in_the_kernel_is_never_touched() {
    for ours in [vec![], vec![running("scx_a")]] {
        let observed = observed(Some("stranger"), ours);
        for manner in [Manner::Join, Manner::Replace] {
            let said = refusal(&observed, manner);
            assert!(said.starts_with("the kernel runs stranger"), "{said}");
        }
    }
}

#[test]
fn a_process_that_holds_a_scheduler_is_the_one_whatever_its_name() {
    let mut observed = observed(Some("stranger"), vec![running("scx_a")]);
    observed.holds = Fact::Known(true);
    let decision = decide(&observed, &wanted("scx_a"), Manner::Join).unwrap();
    assert!(matches!(decision, Decision::Runs(_)));
}

#[test]
fn two_of_ours_another_runtime_and_a_trial_are_refused() {
    let two = observed(Some("a"), vec![running("scx_a"), running("scx_b")]);
    assert!(refusal(&two, Manner::Replace).starts_with("scx_a and scx_b run at once"));
    let mut other = running("scx_a");
    other.runtime = Runtime::Containerd;
    let other = observed(Some("a"), vec![other]);
    assert!(refusal(&other, Manner::Replace).contains("`--driver containerd`"));
    let mut trial = observed(Some("b"), vec![running("scx_b")]);
    trial.trial = Some(Trial {
        scheduler: "scx_b".to_owned(),
        runtime: Runtime::Podman,
        candidate: ContainerId::new("scx_b-id"),
        before: None,
        length: std::time::Duration::from_secs(1),
        until: Timestamp::UNIX_EPOCH,
        stage: Stage::Starting,
    });
    assert!(refusal(&trial, Manner::Replace).starts_with("scx_b is on trial"));
}

#[test]
fn a_kernel_that_tells_nothing_is_not_guessed_at() {
    let mut blind = observed(None, Vec::new());
    blind.kernel = Fact::Unreadable("no".to_owned());
    let said = refusal(&blind, Manner::Join);
    assert!(
        said.starts_with("cannot tell what the kernel runs"),
        "{said}"
    );
}

#[test]
fn the_spare_of_a_trial_is_no_leftover() {
    let mut observed = observed(None, vec![held("old", ContainerState::Exited(ExitCode(0)))]);
    assert_eq!(observed.leftovers().count(), 1);
    observed.trial = Some(Trial {
        scheduler: "scx_b".to_owned(),
        runtime: Runtime::Podman,
        candidate: ContainerId::new("scx_b-id"),
        before: Some(ContainerId::new("old-id")),
        length: std::time::Duration::from_secs(1),
        until: Timestamp::UNIX_EPOCH,
        stage: Stage::Starting,
    });
    assert_eq!(observed.leftovers().count(), 0);
}

#[test]
fn what_sked_runs_is_left_alone_and_named() {
    for manner in [Manner::Join, Manner::Replace] {
        let with_pod = |ops, ours| Observed {
            sked: vec![sked_pod("scx_lab")],
            ..observed(ops, ours)
        };
        // The same scheduler, another one, and one of ours that the kernel does not run: sked's is
        // attached.
        for ours in [vec![], vec![running("scx_b")]] {
            assert_eq!(
                refusal(&with_pod(Some("lab_1.0"), ours), manner),
                "the kernel runs lab_1.0 for sked (pod team/lab-x7, DaemonSet team/lab), and \
                 schedctl leaves that alone: end or change it in the cluster with `kubectl -n team \
                 edit schedext lab` (SCHEDEXT-POOL is the name where it has pools)"
            );
        }
        let starting = refusal(&with_pod(None, vec![]), manner);
        assert!(
            starting.contains("sked runs a scheduler here (pod team/lab-x7"),
            "{starting}"
        );
        // A stranger's is not called sked's.
        let foreign = refusal(&with_pod(Some("other_1.0"), vec![]), manner);
        assert!(
            foreign.contains("which schedctl did not start"),
            "{foreign}"
        );
        // Ours is attached: what sked waits for is not our matter.
        let ours = with_pod(Some("a_1.0"), vec![running("scx_a")]);
        assert!(decide(&ours, &wanted("scx_a"), manner).is_ok());
    }
}
