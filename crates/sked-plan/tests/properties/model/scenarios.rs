//! What is explored: who is there, what users may write, and how much may go wrong.

use serde_json::{Value, json};
use sked_api::SchedExtSpec;

use super::act::{Act, Wishes};
use super::exploration::{Bounds, Exploration, Order};
use super::planner::Planner;
use super::state::Budget;

/// Three nodes, and durations that are short, so that few of them are different.
fn spec(image: &str, rollout: &Value) -> Value {
    let on_failure = json!({"attachDeadline": "60s", "window": "1m"});
    json!({"sched": image, "rollout": rollout, "onFailure": on_failure})
}

fn planner(specs: &[Value]) -> Planner {
    let read = |spec: &Value| -> SchedExtSpec { serde_json::from_value(spec.clone()).unwrap() };
    Planner::new(specs.iter().map(read).collect())
}

/// One SchedExt whose first revision runs everywhere; the second may fail at any time, the third
/// does not attach.
pub(super) fn one(rollout: &Value, bounds: &Bounds) -> Exploration {
    let specs = ["good:1", "stall:2", "never:3"].map(|image| spec(image, rollout));
    let wishes = Wishes {
        edits: vec![("a", 0), ("a", 1), ("a", 2)],
        removals: Vec::new(),
    };
    Exploration::new(planner(&specs), wishes, bounds, &[Act::Edit("a", 0)])
}

/// The same with a rival of a higher priority, that may come and go, for the third node.
pub(super) fn two(rollout: &Value, bounds: &Bounds) -> Exploration {
    // Its DaemonSet is created at once, and must wait for the label.
    let rival = json!({"sched": "good:4", "nodeSelector": {"zone": "3"}, "priority": 10});
    let mut specs = ["good:1", "stall:2"]
        .map(|image| spec(image, rollout))
        .to_vec();
    specs.push(rival);
    let wishes = Wishes {
        edits: vec![("a", 1), ("b", 2)],
        removals: vec!["b"],
    };
    Exploration::new(planner(&specs), wishes, bounds, &[Act::Edit("a", 0)])
}

pub(super) fn canary() -> Value {
    json!({"soak": "30s", "canary": {"nodes": 1}})
}

pub(super) fn without_canary() -> Value {
    json!({"soak": "30s"})
}

/// So many faults, failures and edits.
pub(super) fn bounds(order: Order, faults: u8, failures: u8, edits: u8) -> Bounds {
    Bounds {
        nodes: 3,
        budget: Budget {
            faults,
            failures,
            edits,
        },
        order,
    }
}
