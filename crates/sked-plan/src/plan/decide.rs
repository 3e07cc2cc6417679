//! One DaemonSet that is wanted: whether it is made, put right, waited for or left alone.

use super::{Held, Plan, Step, Taken, Until};
use crate::daemonset::daemonset;
use crate::name::ObjectKey;
use crate::observed::{LiveDaemonSet, Observed};
use crate::part::{Part, uid};
use crate::shape::shape;

/// Adds to the plan what a part needs. Returns the name that it has a right to, if it has one.
pub(super) fn decide(observed: &Observed, part: &Part<'_>, plan: &mut Plan) -> Option<ObjectKey> {
    let key = part.key();
    let yields = part
        .pool_name()
        .and_then(|pool| observed.share.yields.get(pool));
    if let Some(other) = yields {
        let by = format!("the SchedExt {other}, whose own name goes first");
        plan.taken.push(Taken { key, by });
        return None;
    }
    let live = observed.daemonsets.iter().find(|live| live.key == key);
    match live {
        Some(live) if live.deleting => plan.held.push(Held {
            key: key.clone(),
            until: Until::Gone,
        }),
        Some(live) if live.controller.as_ref() != Some(&uid(part.schedext)) => {
            let by = stranger(live);
            let key = key.clone();
            plan.taken.push(Taken { key, by });
        }
        Some(live) => replace(observed, part, live, plan),
        None => match hold(observed, part) {
            Some(until) => plan.held.push(Held {
                key: key.clone(),
                until,
            }),
            None => plan.steps.push(Step::Create(Box::new(daemonset(part)))),
        },
    }
    Some(key)
}

fn replace(observed: &Observed, part: &Part<'_>, live: &LiveDaemonSet, plan: &mut Plan) {
    let wanted = daemonset(part);
    // What cannot be written down cannot be compared; nor could it ever be sent.
    let Ok(value) = serde_json::to_value(&wanted) else {
        return;
    };
    if shape(&value) == live.shape {
        return;
    }
    match hold(observed, part) {
        Some(until) => plan.held.push(Held {
            key: live.key.clone(),
            until,
        }),
        None => plan.steps.push(Step::Replace {
            wanted: Box::new(wanted),
            uid: live.uid.clone(),
        }),
    }
}

/// The claims say which nodes' labels must be there first: those that the DaemonSet as it is now
/// would not run on. So what only narrows never waits.
fn hold(observed: &Observed, part: &Part<'_>) -> Option<Until> {
    let share = &observed.share;
    let generation = part.schedext.metadata.generation.unwrap_or_default();
    if share.generation != generation {
        return Some(Until::Claimed);
    }
    let Some(part) = share.parts.get(&part.pool_name().map(str::to_owned)) else {
        return Some(Until::Claimed);
    };
    let nodes = part.waits_for.clone();
    (!nodes.is_empty()).then_some(Until::Labelled(nodes))
}

fn stranger(live: &LiveDaemonSet) -> String {
    match (&live.stranger, &live.controller) {
        (Some(stranger), _) => stranger.clone(),
        (None, Some(_)) => "another SchedExt, or an earlier one of the same name".to_owned(),
        (None, None) => "nobody that it names as its controller".to_owned(),
    }
}
