//! An exhaustive model of roll-outs, failures and crashes (design/0014): the real claims, plans,
//! statuses, checks and the real merge rule of the stores, in a cluster so small that a checker visits
//! every state of it.
//!
//! ```text
//! scenarios ─▶ exploration (stateright) ─▶ act: what can happen next
//!                    │                      ├─ manager ─▶ planner: the real functions, memoised
//!                    │                      ├─ daemonset_controller, kubelet
//!                    │                      └─ surroundings: faults, users
//!                    └─▶ laws, settle: what must hold in every state
//! state: objects in tables (API server, store, watch), their times relative to the present
//! ```
//!
//! `the_bounds` is part of every test run, `far_beyond_them` and `random_walks` run with
//! `SCHEDKIT_MODEL=long` (`make model`).

mod act;
mod daemonset_controller;
mod dated;
mod exploration;
mod kubelet;
mod laws;
mod manager;
mod memo;
mod objects;
mod planner;
mod rendered;
mod scenarios;
mod settle;
mod state;
mod surroundings;
mod table;
mod times;

use std::time::Instant;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model, UniformChooser};

use exploration::{Exploration, Order};
use scenarios::{bounds, canary, one, two, without_canary};

/// Explores every state within the bounds. Returns how many there are.
fn explore(name: &str, exploration: Exploration) -> usize {
    let begin = Instant::now();
    let checker = builder(exploration).spawn_bfs().join();
    judge(name, &checker, begin);
    checker.unique_state_count()
}

fn builder(exploration: Exploration) -> CheckerBuilder<Exploration> {
    let checker = exploration.checker();
    checker.finish_when(HasDiscoveries::AnyFailures)
}

/// Prints how far it came, and fails with the way to a state in which something does not hold.
#[expect(clippy::print_stderr, reason = "how much was explored")]
fn judge(name: &str, checker: &impl Checker<Exploration>, begin: Instant) {
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    let answers = checker.model().planner.answers();
    let time = begin.elapsed().as_secs();
    eprintln!("{name}: {states} states, depth {depth}, {answers} answers, {time} s");
    if let Some((law, path)) = checker.discoveries().into_iter().next() {
        let complaint = checker.model().complaint(path.last_state());
        let acts = path.into_actions();
        let acts: Vec<String> = acts.iter().map(|next| format!("{next:?}")).collect();
        let acts = acts.join("\n");
        panic!("{name}: it does not hold that {law}: {complaint:?} after\n{acts}");
    }
}

#[test]
fn the_bounds() {
    use Order::{Any, InTurn};
    let (canary, without) = (canary(), without_canary());
    let mut states = 0;
    states += explore("in any order", one(&canary, &bounds(Any, 0, 1, 1)));
    states += explore(
        "changed in the middle",
        one(&canary, &bounds(InTurn, 0, 1, 2)),
    );
    states += explore("without a canary", one(&without, &bounds(InTurn, 0, 1, 2)));
    states += explore("with a rival", two(&canary, &bounds(InTurn, 0, 1, 2)));
    states += explore("a fault", one(&canary, &bounds(InTurn, 1, 0, 1)));
    states += explore(
        "a fault without a canary",
        one(&without, &bounds(InTurn, 1, 0, 1)),
    );
    assert!(states > 20_000, "only {states} states");
}

#[test]
#[ignore = "takes minutes: `make model`"]
fn far_beyond_them() {
    for (name, rollout) in [
        ("a fault and a failure", canary()),
        ("the same without a canary", without_canary()),
    ] {
        explore(name, one(&rollout, &bounds(Order::InTurn, 1, 1, 1)));
    }
}

/// Where there are too many states to visit all: in any order, with many faults at once.
#[test]
fn random_walks() {
    let most = if is_long() { 500_000 } else { 5_000 };
    let seed = match std::env::var_os("SCHEDKIT_SEED") {
        Some(_) => std::process::id().into(),
        None => 1,
    };
    for (name, rollout) in [("canary", canary()), ("no canary", without_canary())] {
        let begin = Instant::now();
        let exploration = two(&rollout, &bounds(Order::Any, 4, 3, 4));
        let builder = builder(exploration).target_state_count(most);
        let checker = builder.spawn_simulation(seed, UniformChooser).join();
        judge(&format!("walks, {name}, seed {seed}"), &checker, begin);
    }
}

fn is_long() -> bool {
    std::env::var_os("SCHEDKIT_MODEL").is_some_and(|value| value == "long")
}
