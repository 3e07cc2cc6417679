//! The model as stateright explores it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use sked_plan::NodeName;
use stateright::{Model, Property};

use super::act::{Act, Wishes};
use super::planner::Planner;
use super::settle::{Settling, fair_step};
use super::state::{Budget, History, State};

/// In which order the cluster does what it does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Any,
    /// One after the other; only faults, users and failures come in between.
    InTurn,
}

pub(super) struct Exploration {
    pub(super) planner: Planner,
    wishes: Wishes,
    order: Order,
    start: State,
    nodes: Vec<NodeName>,
    settling: Settling,
    /// One failure is enough: the checker would go on for a while.
    has_failed: AtomicBool,
}

/// What is explored.
pub(super) struct Bounds {
    pub(super) nodes: usize,
    pub(super) budget: Budget,
    pub(super) order: Order,
}

/// What happens next, with the state after it, so that it is computed once.
#[derive(Clone, PartialEq)]
pub(super) struct Next {
    pub(super) act: Act,
    state: Arc<State>,
}

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.act.fmt(f)
    }
}

impl Exploration {
    /// From a cluster in which `start` is done and everything has settled.
    pub(super) fn new(planner: Planner, wishes: Wishes, bounds: &Bounds, start: &[Act]) -> Self {
        let Bounds {
            nodes,
            budget,
            order,
        } = *bounds;
        let names: Vec<NodeName> = (1..=nodes)
            .map(|number| format!("node{number}").into())
            .collect();
        let mut state = State::default();
        names.iter().for_each(|name| state.join(name, "uid-1"));
        for act in start {
            state = state.after(act, &planner).unwrap();
            let mut acts = Vec::new();
            while let Some((act, next)) = fair_step(&state, &planner, &names) {
                state = next;
                acts.push(act);
                assert!(acts.len() < 500, "{acts:?}");
            }
        }
        state.budget = budget;
        state.history = History {
            reached: state.history.reached,
            ..History::default()
        };
        Self {
            planner,
            wishes,
            order,
            start: state,
            nodes: names,
            settling: Settling::default(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// What the budget allows, with what is left of it then.
    fn limited(&self, state: &State) -> Vec<(Act, Budget)> {
        let budget = state.budget;
        let faults = state.faults().into_iter().map(|act| {
            let faults = budget.faults - 1;
            (act, Budget { faults, ..budget })
        });
        let failures = state.failures().into_iter().map(|act| {
            let failures = budget.failures - 1;
            (act, Budget { failures, ..budget })
        });
        let edits = state.edits(&self.wishes).into_iter().map(|act| {
            let edits = budget.edits - 1;
            (act, Budget { edits, ..budget })
        });
        faults.chain(failures).chain(edits).collect()
    }
}

impl Model for Exploration {
    type State = State;
    type Action = Next;

    fn init_states(&self) -> Vec<State> {
        vec![self.start.clone()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Next>) {
        if state.history.broken.is_some() {
            return;
        }
        let after = |act: Act| {
            let state = Arc::new(state.after(&act, &self.planner)?);
            Some(Next { act, state })
        };
        match self.order {
            Order::Any => actions.extend(state.own_acts().into_iter().filter_map(after)),
            Order::InTurn => actions.extend(state.acts_in_turn().into_iter().find_map(after)),
        }
        if actions.is_empty() {
            actions.extend(after(Act::TimePasses));
        }
        actions.extend(state.recoveries(&self.nodes).into_iter().filter_map(after));
        let limited = self.limited(state).into_iter().filter_map(|(act, budget)| {
            let state = state.after(&act, &self.planner)?;
            let state = Arc::new(State { budget, ..state });
            Some(Next { act, state })
        });
        actions.extend(limited);
    }

    fn next_state(&self, _: &State, action: Next) -> Option<State> {
        Some(Arc::unwrap_or_clone(action.state))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "the laws hold and the fleet settles",
            |model: &Self, state| {
                let is_over = model.has_failed.load(Relaxed);
                let holds = is_over || model.complaint(state).is_none();
                if !holds {
                    model.has_failed.store(true, Relaxed);
                }
                holds
            },
        )]
    }
}

impl Exploration {
    /// Why a state breaks a property.
    pub(super) fn complaint(&self, state: &State) -> Option<String> {
        let settles = self.settling.check(state, &self.planner, &self.nodes);
        state.history.broken.clone().or(settles.err())
    }
}
