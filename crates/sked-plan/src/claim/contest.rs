//! One node: who asks for it, who gets it, what its label must say.

use sked_api::label;

use super::asker::Field;
use super::door::Opening;
use super::{EXAMPLES, LabelWrite, Mark, Share};
use crate::name::OwnerId;
use crate::observed::Node;
use crate::standing::Bar;

/// A contest for one node after the other; it keeps its memory, not its outcome.
#[derive(Default)]
pub(super) struct Contest {
    /// The doors through which a pod may come, asked for or live.
    open: Vec<(usize, Opening)>,
    /// Everybody who asks, each with the first of its doors that does.
    asks: Vec<(usize, usize)>,
    /// The winner and its door.
    winner: Option<(usize, usize)>,
}

/// What a node's owner label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label<'a> {
    /// There is none.
    None,
    /// An owner, perhaps one that is gone.
    Owner(OwnerId, &'a str),
    /// A reserved word.
    Reserved(&'a str),
    /// Something that sked never wrote.
    Nonsense(&'a str),
}

/// How firmly somebody sits on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    Nothing,
    Pod,
    Label,
}

impl<'a> Label<'a> {
    /// Of a node.
    pub(super) fn of(node: &'a Node) -> Self {
        let Some(text) = node.labels.get(label::OWNER) else {
            return Self::None;
        };
        match text.parse() {
            Ok(owner) => Self::Owner(owner, text),
            Err(_) if label::RESERVED.contains(&&**text) => Self::Reserved(text),
            Err(_) => Self::Nonsense(text),
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::None => None,
            Self::Owner(_, text) | Self::Reserved(text) | Self::Nonsense(text) => Some(text),
        }
    }

    fn names(self, owner: OwnerId) -> bool {
        matches!(self, Self::Owner(named, _) if named == owner)
    }
}

impl Contest {
    /// Holds it.
    pub(super) fn hold(&mut self, field: &Field<'_>, node: &Node, label: Label<'_>) {
        let running = field.running.get(&node.name).map_or(&[][..], Vec::as_slice);
        self.open.clear();
        self.asks.clear();
        for (at, door) in field.doors.iter().enumerate() {
            let opening = door.opening(node, running.contains(&at));
            if opening.asks || opening.live {
                self.open.push((at, opening));
            }
            // The doors of one asker lie side by side, in the order in which it goes by them.
            let asks = door.asker.filter(|_| opening.asks);
            if let Some(asker) = asks
                && self.asks.last().is_none_or(|(last, _)| *last != asker)
            {
                self.asks.push((asker, at));
            }
        }
        let rank = |(asker, _): &&(usize, usize)| {
            let hold = hold(field, *asker, running, label);
            let asker = &field.askers[*asker];
            (asker.priority, hold, asker.seniority())
        };
        self.winner = self.asks.iter().max_by_key(rank).copied();
    }

    /// What must be written on the node.
    pub(super) fn write(
        &self,
        field: &Field<'_>,
        node: &Node,
        label: Label<'_>,
    ) -> Option<LabelWrite> {
        let to = match self.winner {
            Some((_, door)) if self.is_contested(door) => owner(field, door),
            // Nobody asks, but some template would let a pod in: the label must not go yet.
            None if !self.open.is_empty() => return None,
            _ => None,
        };
        let right = match (label, to) {
            (Label::None, None) => true,
            (label, Some(owner)) => label.names(owner),
            (_, None) => false,
        };
        (!right).then(|| LabelWrite {
            node: node.name.clone(),
            from: label.text().map(str::to_owned),
            to: to.map(Mark::Owner),
        })
    }

    /// What must be written on a node that is good for nobody: the reason, while some template
    /// would let a pod in. A quarantine stays until somebody ends it.
    pub(super) fn write_bar(&self, node: &Node, label: Label<'_>, bar: &Bar) -> Option<LabelWrite> {
        let needed = !self.open.is_empty() || *bar == Bar::Quarantined;
        let to = needed.then(|| bar.word());
        (label.text() != to).then(|| LabelWrite {
            node: node.name.clone(),
            from: label.text().map(str::to_owned),
            to: to.map(Mark::Barred),
        })
    }

    /// Tells everybody who asked that the node is good for nobody.
    pub(super) fn tell_bar(
        &self,
        field: &Field<'_>,
        node: &Node,
        label: Label<'_>,
        bar: &Bar,
        shares: &mut [Share],
    ) {
        for (asker, _) in &self.asks {
            shares[*asker].barred.add(&node.name, bar);
        }
        if label.text() != Some(bar.word()) {
            self.tell_to_wait(field, node, label, shares);
        }
    }

    /// Tells everybody who asked what came of it.
    pub(super) fn tell(
        &self,
        field: &Field<'_>,
        node: &Node,
        label: Label<'_>,
        shares: &mut [Share],
    ) {
        let Some((winner, door)) = self.winner else {
            return;
        };
        if let Some(wanted) = &field.doors[door].wanted
            && let Some(part) = shares[winner].parts.get_mut(&wanted.pool)
        {
            part.nodes += 1;
        }
        for (asker, _) in self.asks.iter().filter(|(asker, _)| *asker != winner) {
            let lost = &mut shares[*asker].lost;
            lost.count += 1;
            if lost.nodes.len() < EXAMPLES {
                let winner = field.askers[winner].key.clone();
                lost.nodes.push((node.name.clone(), winner));
            }
        }
        let right = owner(field, door).is_some_and(|owner| label.names(owner));
        if self.is_contested(door) && !right {
            self.tell_to_wait(field, node, label, shares);
        }
    }

    /// Who would come in anew before the label is written: without any label everybody, else
    /// whoever it names.
    fn tell_to_wait(&self, field: &Field<'_>, node: &Node, label: Label<'_>, shares: &mut [Share]) {
        let anew = self.open.iter().filter(|(_, opening)| !opening.live);
        for (at, _) in anew {
            let door = &field.doors[*at];
            let (Some(asker), Some(wanted)) = (door.asker, &door.wanted) else {
                continue;
            };
            let part = shares[asker].parts.get_mut(&wanted.pool);
            if (label == Label::None || label.names(wanted.owner))
                && let Some(part) = part
                && part.waits_for.len() < EXAMPLES
            {
                part.waits_for.push(node.name.clone());
            }
        }
    }

    /// Whether any other DaemonSet would run there as well.
    fn is_contested(&self, winner: usize) -> bool {
        self.open.iter().any(|(at, _)| *at != winner)
    }
}

fn owner(field: &Field<'_>, door: usize) -> Option<OwnerId> {
    field.doors[door].wanted.as_ref().map(|wanted| wanted.owner)
}

/// How firmly a SchedExt sits on the node, whichever of its parts does.
fn hold(field: &Field<'_>, asker: usize, running: &[usize], label: Label<'_>) -> Hold {
    let own = |door: &usize| owner(field, *door).is_some_and(|owner| label.names(owner));
    if field.askers[asker].doors.iter().any(own) {
        return Hold::Label;
    }
    if running
        .iter()
        .any(|at| field.doors[*at].asker == Some(asker))
    {
        return Hold::Pod;
    }
    Hold::Nothing
}
