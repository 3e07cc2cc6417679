//! What images say about themselves, and the nodes that they are for.

use super::*;
use crate::image_facts::ImageFacts;
use crate::kernel_state::KernelState;

/// Two nodes without pods, of an image with an entrypoint.
fn before_the_first_pod(min_kernel: Option<&str>, architectures: &[&str]) -> Observed {
    let mut observed = settled();
    for (node, architecture, release) in [
        ("node1", "amd64", "6.12.9-1-cloud"),
        ("node2", "arm64", "6.18.2"),
    ] {
        let architectures = &mut observed.architectures;
        architectures.insert(node.into(), architecture.to_owned());
        let release = release.parse().unwrap();
        observed.releases.insert(node.into(), release);
    }
    let facts = facts(min_kernel, architectures);
    let image = observed.schedext.spec.sched.clone();
    observed.facts.insert(image, facts);
    observed
}

fn facts(min_kernel: Option<&str>, architectures: &[&str]) -> Arc<ImageFacts> {
    Arc::new(ImageFacts {
        min_kernel: min_kernel.map(|text| text.parse().unwrap()),
        architectures: architectures.iter().map(|one| (*one).to_owned()).collect(),
        has_entrypoint: true,
    })
}

fn problems(observed: &Observed) -> Vec<String> {
    let status = status_of(observed);
    let problems = status.problems.iter();
    let problems = problems.map(|one| format!("{} {}", one.node, one.reason));
    problems.collect()
}

#[test]
fn a_node_that_an_image_does_not_fit_is_reported_before_it_has_a_pod() {
    let fits = before_the_first_pod(Some("6.12"), &["amd64", "arm64"]);
    assert_eq!(problems(&fits), [""; 0]);
    let observed = before_the_first_pod(Some("6.14"), &["amd64", "s390x"]);
    assert_eq!(
        problems(&observed),
        ["node1 KernelTooOld", "node2 ArchitectureMissing"]
    );
    let status = status_of(&observed);
    for (problem, text) in status.problems.iter().zip([
        "its kernel 6.12.9-1-cloud is older than 6.14, the minimum kernel of example/one:1: boot",
        "example/one:1 has nothing for its architecture arm64, only for amd64, s390x: build",
    ]) {
        assert!(problem.message.contains(text), "{}", problem.message);
    }
    let before = status_of(&fits);
    assert_eq!(values(&status), values(&before), "nothing has failed yet");
    assert_eq!(plan(&observed), plan(&fits), "nothing is moved");
}

#[test]
fn a_pod_on_such_a_node_is_reported_once_and_not_when_it_is_attached() {
    let mut observed = before_the_first_pod(None, &["amd64"]);
    let state = PodState::Waiting {
        reason: "ErrImagePull".to_owned(),
        message: "no match for platform".to_owned(),
    };
    observed.pods = vec![pod("one", "node2", state)];
    assert_eq!(problems(&observed), ["node2 ImageError"]);
    let message = &status_of(&observed).problems[0].message;
    assert!(message.contains("; also, example/one:1 has"), "{message}");

    observed.pods = vec![pod("one", "node2", PodState::Starting)];
    assert_eq!(problems(&observed), ["node2 ArchitectureMissing"]);
    observed.pods = vec![pod("one", "node2", PodState::Running)];
    let enabled = KernelState::Enabled {
        ops: "lab".parse().unwrap(),
        since: observed.now,
    };
    observed.kernels.insert("node2".into(), enabled);
    assert_eq!(problems(&observed), [""; 0]);
}

#[test]
fn what_is_not_known_of_an_image_or_a_node_changes_nothing() {
    let known = || before_the_first_pod(Some("7.0"), &["s390x"]);
    assert_eq!(problems(&known()).len(), 2);
    let of_image = before_the_first_pod(None, &[]);
    assert_eq!(problems(&of_image), [""; 0]);
    let mut of_nodes = known();
    of_nodes.architectures.clear();
    assert_eq!(problems(&of_nodes).len(), 2, "of the kernels");
    of_nodes.releases.clear();
    assert_eq!(problems(&of_nodes), [""; 0]);
    let mut nothing = known();
    nothing.facts.clear();
    assert_eq!(problems(&nothing), [""; 0]);
    let mut other_image = nothing.clone();
    let facts = facts(Some("7.0"), &["s390x"]);
    other_image
        .facts
        .insert("example/other:1".to_owned(), facts);
    assert_eq!(status_of(&other_image), status_of(&nothing));
}

#[test]
fn each_pool_is_compared_with_its_own_image() {
    let pool = json!({"name": "p", "sched": "example/pool:1", "nodeSelector": {"a": "b"}});
    let two = schedext("two", json!({"sched": "example/one:1", "pools": [pool]}));
    let mut observed = Observed {
        architectures: before_the_first_pod(None, &[]).architectures,
        ..observed(&two, &live(&two))
    };
    let parts = &mut Arc::make_mut(&mut observed.assignment).parts;
    for (id, part) in parts.iter_mut() {
        let is_pool = id.pool.is_some();
        part.nodes = vec![if is_pool { "node2" } else { "node1" }.into()];
    }
    let image = "example/pool:1".to_owned();
    observed
        .facts
        .insert(image.clone(), facts(None, &["arm64"]));
    assert_eq!(problems(&observed), [""; 0]);
    observed.facts.insert(image, facts(None, &["amd64"]));
    assert_eq!(problems(&observed), ["node2 ArchitectureMissing"]);
}

#[test]
fn an_image_without_an_entrypoint_is_a_problem_of_the_whole_unless_the_arguments_name_a_program() {
    for (args, expected) in [
        (&[][..], &[" NoEntrypoint"][..]),
        (&["--slice", "/x"], &[" NoEntrypoint"]),
        (&["/usr/bin/scx_one"], &[]),
    ] {
        let one = schedext("one", json!({"sched": "example/one:1", "args": args}));
        let mut observed = observed(&one, &live(&one));
        let image = "example/one:1".to_owned();
        observed.facts.insert(image, Arc::default());
        assert_eq!(problems(&observed), expected, "{args:?}");
    }
}
