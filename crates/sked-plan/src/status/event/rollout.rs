//! The steps of a roll-out: phases, the canary's nodes, the quarantine, requests.

use std::collections::BTreeSet;

use sked_api::{RolloutPhase, RolloutStatus, SchedExtStatus};

use super::{Event, EventKind};
use crate::rollout::requests;
use crate::status::node_list::node_list;

pub(super) fn events(old: &SchedExtStatus, new: &SchedExtStatus) -> Vec<Event> {
    let request = request(old, new);
    let phase = phase(old.rollout.as_ref(), new.rollout.as_ref());
    let canary = canary(old.rollout.as_ref(), new.rollout.as_ref());
    let quarantine = quarantine(old, new);
    let events = request.into_iter().chain(phase);
    events.chain(canary).chain(quarantine).collect()
}

fn normal(reason: &str, message: String) -> Event {
    Event {
        kind: EventKind::Normal,
        reason: reason.to_owned(),
        message,
    }
}

/// A request that was refused is a condition's event.
fn request(old: &SchedExtStatus, new: &SchedExtStatus) -> Option<Event> {
    let handled = new.handled_request.as_deref()?;
    let is_new = old.handled_request.as_deref() != Some(handled);
    (is_new && requests::was_carried_out(handled))
        .then(|| normal("RequestCarriedOut", format!("{handled} was carried out")))
}

/// Of the phases that no condition reports by an event of its own.
fn phase(before: Option<&RolloutStatus>, rollout: Option<&RolloutStatus>) -> Option<Event> {
    let rollout = rollout?;
    let same = |before: &RolloutStatus| {
        before.phase == rollout.phase && before.revision == rollout.revision
    };
    if before.is_some_and(same) {
        return None;
    }
    let revision = &rollout.revision;
    let message = match rollout.phase {
        RolloutPhase::Canary => format!("revision {revision} runs on the canary first"),
        RolloutPhase::Rolling if before.is_some() => {
            match rollout.canary_nodes().next().is_none() {
                true => format!("revision {revision} is rolled out"),
                false => {
                    format!("revision {revision} is rolled out to the nodes beyond the canary")
                }
            }
        }
        RolloutPhase::Complete if before.is_some() => {
            format!("revision {revision} is the last good one from now on")
        }
        _ => return None,
    };
    Some(normal(
        &format!("Rollout{}", rollout.phase.as_str()),
        message,
    ))
}

fn canary(old: Option<&RolloutStatus>, new: Option<&RolloutStatus>) -> Vec<Event> {
    let [before, after] = [old, new].map(|rollout| -> BTreeSet<&str> {
        let nodes = rollout.into_iter().flat_map(RolloutStatus::canary_nodes);
        nodes.collect()
    });
    let given = missing(&after, &before).map(|nodes| {
        let revision = new.map_or("", |new| &new.revision);
        normal(
            "CanaryNodesChosen",
            format!("revision {revision} starts on {nodes}"),
        )
    });
    let handed_back = missing(&before, &after).map(|nodes| {
        normal(
            "CanaryNodesReturned",
            format!("not in the canary any more: {nodes}"),
        )
    });
    given.into_iter().chain(handed_back).collect()
}

fn quarantine(old: &SchedExtStatus, new: &SchedExtStatus) -> Vec<Event> {
    let [before, after] = [old, new].map(|status| -> BTreeSet<&str> {
        let nodes = status.quarantined.iter().map(|one| one.node.as_str());
        nodes.collect()
    });
    let begun = missing(&after, &before).map(|nodes| Event {
        kind: EventKind::Warning,
        ..normal(
            "NodesQuarantined",
            format!("the kernel's own scheduler runs there from now on: {nodes}"),
        )
    });
    let released = missing(&before, &after).map(|nodes| {
        normal(
            "NodesReleased",
            format!("not quarantined any more: {nodes}"),
        )
    });
    begun.into_iter().chain(released).collect()
}

/// The nodes of `these` that `those` lack, if any.
fn missing(these: &BTreeSet<&str>, those: &BTreeSet<&str>) -> Option<String> {
    let only: Vec<&str> = these.difference(those).copied().collect();
    (!only.is_empty()).then(|| node_list(&only))
}
