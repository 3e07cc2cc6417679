//! Judges claims: after the label writes no node may take two DaemonSets.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::PodSpec;
use sked_api::label;

use super::{Violation, template};
use crate::claim::{Claims, LabelWrite};
use crate::daemonset::daemonset;
use crate::name::{NodeName, ObjectKey, Uid};
use crate::observed::{Fleet, Node};
use crate::part::parts;
use crate::standing::Standing;

/// A DaemonSet that there may be: its name and its pods' spec.
type Template = (ObjectKey, PodSpec);

/// Judges claims.
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
        found.extend(judge_write(fleet, nodes.get(&write.node).copied(), write));
        if writes.insert(&write.node, write).is_some() {
            found.push(Violation::Muddled { node });
        }
    }
    for (uid, share) in &claims.shares {
        let has: usize = share.parts.values().map(|part| part.nodes).sum();
        if has + share.lost.count + share.barred.count() > nodes.len() {
            found.push(Violation::TooMany { uid: uid.clone() });
        }
    }
    if fleet.nodes.is_empty() {
        return found;
    }
    let templates = templates(fleet, claims);
    let nodes = fleet.nodes.iter();
    found.extend(nodes.filter_map(|node| judge_node(node, writes.get(&node.name), &templates)));
    found
}

/// A quarantine is never written over, and no other reserved word while the kernel is silent unless
/// nobody asks; a reserved word is written only by the kernel's word.
fn judge_write(fleet: &Fleet, node: Option<&Node>, write: &LabelWrite) -> Option<Violation> {
    let name = write.node.clone();
    let Some(node) = node else {
        return Some(Violation::NotToBeWritten { node: name });
    };
    let known = fleet.standing.get(&node.name);
    let barred = match known {
        Some(Standing::Barred(bar)) => Some(bar.word()),
        Some(Standing::Free) | None => None,
    };
    let to = write.to.map(|mark| mark.to_string());
    let to_owner = to.as_deref().is_some_and(|to| to.len() == 16);
    match (
        node.labels.get(label::OWNER).map(String::as_str),
        to.as_deref(),
    ) {
        (Some("quarantined"), _) => return Some(Violation::NotToBeWritten { node: name }),
        (Some("unsupported" | "foreign"), Some(_)) if known.is_none() => {
            return Some(Violation::NotToBeWritten { node: name });
        }
        (_, Some(word)) if !to_owner && Some(word) != barred => {
            return Some(Violation::NotToBeWritten { node: name });
        }
        (_, Some(_)) if to_owner && barred.is_some() => {
            return Some(Violation::NotToBeWritten { node: name });
        }
        _ => {}
    }
    match node.labels.get(label::OWNER) {
        now if now != write.from.as_ref() => Some(Violation::Muddled { node: name }),
        now if now.cloned() == to => Some(Violation::Muddled { node: name }),
        _ => None,
    }
}

/// Of all DaemonSets that the claims give a share to.
fn templates(fleet: &Fleet, claims: &Claims) -> Vec<Template> {
    let mut all = Vec::new();
    for schedext in &fleet.schedexts {
        let uid = Uid(schedext.metadata.uid.clone().unwrap_or_default());
        let Some(share) = claims.shares.get(&uid) else {
            continue;
        };
        for part in parts(schedext) {
            let pool = part.pool.map(|pool| pool.name.clone());
            if share.parts.contains_key(&pool)
                && let Some(spec) = daemonset(&part).spec
                && let Some(pod) = spec.template.spec
            {
                all.push((part.key(), pod));
            }
        }
    }
    all
}

fn judge_node(
    node: &Node,
    write: Option<&&LabelWrite>,
    templates: &[Template],
) -> Option<Violation> {
    let written = write
        .and_then(|write| write.to)
        .map(|mark| mark.to_string());
    let owner = match write {
        Some(_) => written.as_deref(),
        None => node.labels.get(label::OWNER).map(String::as_str),
    };
    let mut takes = templates
        .iter()
        .filter(|(_, pod)| template::lets_in(pod, node, owner));
    let (first, _) = takes.next()?;
    let (second, _) = takes.next()?;
    Some(Violation::TwoOwners {
        node: node.name.clone(),
        first: first.clone(),
        second: second.clone(),
    })
}
