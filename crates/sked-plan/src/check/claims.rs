//! Checks claims: after the label writes no node may admit two DaemonSets.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::PodSpec;
use sked_api::label;

use super::template;
use super::violation::Violation;
use crate::claim::{Claims, LabelWrite};
use crate::daemonset::daemonset;
use crate::eligibility::Eligibility;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::node::Node;
use crate::observed::Fleet;
use crate::rollout::{Templates, is_deployed};

/// The name of a DaemonSet and its pod spec.
type Template = (ObjectKey, PodSpec);

pub fn check_claims(fleet: &Fleet, claims: &Claims) -> Vec<Violation> {
    let mut found = Vec::new();
    let nodes: HashMap<&NodeName, &Node> = fleet
        .nodes
        .iter()
        .map(|node| (&node.name, &**node))
        .collect();
    let mut writes: HashMap<&NodeName, &LabelWrite> = HashMap::new();
    for write in &claims.writes {
        let node = write.node.clone();
        found.extend(check_write(fleet, nodes.get(&write.node).copied(), write));
        if writes.insert(&write.node, write).is_some() {
            found.push(Violation::InconsistentLabelWrite { node });
        }
    }
    let judged = claims.assignments.iter();
    for (uid, assignment) in judged.filter(|(_, one)| one.violation.is_none()) {
        let has: usize = assignment.parts.values().map(|part| part.nodes.len()).sum();
        if has + assignment.lost.count + assignment.excluded.count() > nodes.len() {
            found.push(Violation::TooManyNodes { uid: uid.clone() });
        }
    }
    if fleet.nodes.is_empty() {
        return found;
    }
    let templates = templates(fleet, claims);
    let nodes = fleet.nodes.iter();
    found.extend(nodes.filter_map(|node| check_node(node, writes.get(&node.name), &templates)));
    found
}

/// A quarantine is never overwritten. While the kernel is unknown another reserved value may only be
/// removed. A reserved value is written only if the kernel's state justifies it.
fn check_write(fleet: &Fleet, node: Option<&Node>, write: &LabelWrite) -> Option<Violation> {
    let name = write.node.clone();
    let Some(node) = node else {
        return Some(Violation::ForbiddenLabelWrite { node: name });
    };
    let known = fleet.eligibility.get(&node.name);
    let excluded = match known {
        Some(Eligibility::Excluded(reason)) => Some(reason.label_value()),
        Some(Eligibility::Eligible) | None => None,
    };
    let to = write.to.map(|label| label.to_string());
    let to_owner = to.as_deref().is_some_and(|to| to.len() == 16);
    match (
        node.labels.get(label::OWNER).map(String::as_str),
        to.as_deref(),
    ) {
        (Some("quarantined"), _) => return Some(Violation::ForbiddenLabelWrite { node: name }),
        (Some("unsupported" | "foreign"), Some(_)) if known.is_none() => {
            return Some(Violation::ForbiddenLabelWrite { node: name });
        }
        (_, Some(value)) if !to_owner && Some(value) != excluded => {
            return Some(Violation::ForbiddenLabelWrite { node: name });
        }
        (_, Some(_)) if to_owner && excluded.is_some() => {
            return Some(Violation::ForbiddenLabelWrite { node: name });
        }
        _ => {}
    }
    match node.labels.get(label::OWNER) {
        now if now != write.from.as_ref() => Some(Violation::InconsistentLabelWrite { node: name }),
        now if now.cloned() == to => Some(Violation::InconsistentLabelWrite { node: name }),
        _ => None,
    }
}

/// Of all DaemonSets that are assigned nodes and may be written.
fn templates(fleet: &Fleet, claims: &Claims) -> Vec<Template> {
    let mut all = Vec::new();
    let mut daemonsets: HashMap<_, Vec<_>> = HashMap::new();
    for live in &fleet.daemonsets {
        daemonsets.entry(&live.controller).or_default().push(live);
    }
    for schedext in &fleet.schedexts {
        let uid = Uid(schedext.metadata.uid.clone().unwrap_or_default());
        let assignment = claims.assignments.get(&uid);
        let Some(assignment) = assignment.filter(|one| one.violation.is_none()) else {
            continue;
        };
        let own = daemonsets.get(&Some(uid)).into_iter().flatten();
        let live = own.map(|live| &***live);
        let templates = Templates::new(schedext, is_deployed(schedext, live));
        for part in templates.parts() {
            if assignment.parts.contains_key(&part.id())
                && let Some(spec) = daemonset(&part).spec
                && let Some(pod) = spec.template.spec
            {
                all.push((part.key(), pod));
            }
        }
    }
    all
}

fn check_node(
    node: &Node,
    write: Option<&&LabelWrite>,
    templates: &[Template],
) -> Option<Violation> {
    let written = write
        .and_then(|write| write.to)
        .map(|label| label.to_string());
    let owner = match write {
        Some(_) => written.as_deref(),
        None => node.labels.get(label::OWNER).map(String::as_str),
    };
    let mut admitting = templates
        .iter()
        .filter(|(_, pod)| template::admits(pod, node, owner));
    let (first, _) = admitting.next()?;
    let (second, _) = admitting.next()?;
    Some(Violation::TwoOwners {
        node: node.name.clone(),
        first: first.clone(),
        second: second.clone(),
    })
}
