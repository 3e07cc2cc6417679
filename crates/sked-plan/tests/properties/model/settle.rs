//! When faults stop, the fleet settles. A liveness checker would have to tell loops from joins, which
//! stateright's `eventually` does not: it takes a state that it has seen before for progress, and so
//! misses loops. So it is a law of every single state: a run from here on in which every fault ends,
//! everybody acts in turn and no new fault comes must reach a state in which nothing is left to do,
//! within a bounded number of steps, and that state must be a good one.

use std::collections::HashSet;
use std::sync::Mutex;

use sked_api::RolloutPhase;
use sked_plan::NodeName;

use super::act::Act;
use super::laws::current;
use super::memo::hash;
use super::planner::Planner;
use super::state::{Budget, State};

/// Far more than any run needs.
const MOST_STEPS: usize = 400;

/// States from which the fleet is known to settle.
#[derive(Debug, Default)]
pub(super) struct Settling(Mutex<HashSet<u64>>);

impl Settling {
    /// Why it does not settle.
    pub(super) fn check(
        &self,
        state: &State,
        planner: &Planner,
        all: &[NodeName],
    ) -> Result<(), String> {
        let mut state = state.clone();
        state.budget = Budget::default();
        let mut passed = Vec::new();
        let mut acts = Vec::new();
        loop {
            let key = hash(&state);
            if self.0.lock().unwrap().contains(&key) {
                break;
            }
            if passed.contains(&key) {
                return Err(format!("it goes round in circles: {acts:?}"));
            }
            passed.push(key);
            if passed.len() > MOST_STEPS {
                return Err(format!("it does not come to an end: {acts:?}"));
            }
            if let Some(law) = &state.history.broken {
                return Err(format!("{law} after {acts:?}"));
            }
            match fair_step(&state, planner, all) {
                Some((act, next)) => {
                    acts.push(act);
                    state = next;
                }
                None => {
                    is_good(&state, planner)?;
                    break;
                }
            }
        }
        self.0.lock().unwrap().extend(passed);
        Ok(())
    }
}

/// The next step of a run without faults.
pub(super) fn fair_step(
    state: &State,
    planner: &Planner,
    all: &[NodeName],
) -> Option<(Act, State)> {
    let mut acts = state.recoveries(all);
    acts.extend(state.acts_in_turn());
    acts.push(Act::TimePasses);
    let mut acts = acts.into_iter();
    acts.find_map(|act| {
        let next = state.after(&act, planner)?;
        Some((act, next))
    })
}

/// Every roll-out has ended, and every node runs what its owner's roll-out says.
fn is_good(state: &State, planner: &Planner) -> Result<(), String> {
    for (name, schedext) in state.schedexts.all() {
        let phase = current(planner, schedext).map(|rollout| rollout.phase);
        let ends = [
            RolloutPhase::Complete,
            RolloutPhase::RolledBack,
            RolloutPhase::Failed,
        ];
        if !phase.is_some_and(|phase| ends.contains(&phase)) {
            return Err(format!("{name} ends in the phase {phase:?}"));
        }
    }
    for (node, _) in state.nodes.all() {
        let mut pods = state
            .pods_on(node)
            .filter(|(_, pod)| pod.attached().is_some());
        let runs = pods.next().map(|(_, pod)| &pod.template);
        let quarantined = state.schedexts.all().any(|(_, one)| {
            let all = &one.record.status.quarantined;
            all.iter().any(|one| *one.node == *node.0)
        });
        let Some(runs) = runs else {
            let is_first = state
                .schedexts
                .all()
                .all(|(_, one)| one.record.status.last_good.is_none());
            match quarantined || is_first {
                true => continue,
                false => return Err(format!("{node} runs no scheduler at the end")),
            }
        };
        let (_, owner) = state
            .schedexts
            .all()
            .find(|(name, _)| **name == runs.owner)
            .ok_or("a scheduler of nobody")?;
        let phase = current(planner, owner).map(|rollout| rollout.phase);
        let is_target = planner.specs[owner.spec].sched == runs.image;
        let is_right = match phase {
            Some(RolloutPhase::Complete) => is_target,
            Some(RolloutPhase::RolledBack) => !is_target,
            _ => true,
        };
        if !is_right {
            return Err(format!(
                "{node} runs {} at the end, in the phase {phase:?}",
                runs.image
            ));
        }
    }
    Ok(())
}
