//! Everybody who asks for nodes, with the doors that each one has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use sked_api::SchedExt;

use super::door::{Door, Running, is_there};
use super::{PartShare, Share};
use crate::name::{ObjectKey, Uid};
use crate::observed::{Fleet, LiveDaemonSet};
use crate::part::{self, Part, parts};

/// A SchedExt that asks for nodes.
pub(super) struct Asker {
    pub(super) uid: Uid,
    pub(super) key: ObjectKey,
    /// Rank, against which an incumbent keeps its node.
    pub(super) priority: i32,
    created: Timestamp,
    generation: i64,
    yields: BTreeMap<String, ObjectKey>,
    /// Its doors: the pools in their order, then the base.
    pub(super) doors: Vec<usize>,
}

/// Everybody who asks, all doors, and who is where.
#[derive(Default)]
pub(super) struct Field<'a> {
    pub(super) askers: Vec<Asker>,
    pub(super) doors: Vec<Door>,
    pub(super) running: Running<'a>,
}

/// What is needed while the field is laid out.
struct Layout<'a> {
    /// The names of all SchedExts: no pool's DaemonSet may have one of them.
    names: HashSet<ObjectKey>,
    /// Live DaemonSets that no door was made for yet.
    left: HashMap<&'a ObjectKey, &'a LiveDaemonSet>,
    /// The doors of live DaemonSets.
    doors: HashMap<&'a Uid, usize>,
}

impl Asker {
    fn new(schedext: &SchedExt) -> Self {
        let created = schedext.metadata.creation_timestamp.as_ref();
        Self {
            uid: part::uid(schedext),
            key: part::key(schedext),
            priority: schedext.spec.priority,
            created: created.map_or(Timestamp::MAX, |time| time.0),
            generation: schedext.metadata.generation.unwrap_or_default(),
            yields: BTreeMap::new(),
            doors: Vec::new(),
        }
    }

    /// Who goes first where nobody is yet: the greater.
    pub(super) fn seniority(&self) -> Reverse<(Timestamp, &ObjectKey, &Uid)> {
        Reverse((self.created, &self.key, &self.uid))
    }
}

impl<'a> Field<'a> {
    /// All of it. SchedExts that are being deleted ask for nothing; their DaemonSets are doors
    /// until they are being deleted too, for then the DaemonSet controller makes no more pods.
    pub(super) fn new(fleet: &'a Fleet) -> Self {
        let alive = |one: &&Arc<SchedExt>| one.metadata.deletion_timestamp.is_none();
        let schedexts = fleet.schedexts.iter().filter(alive);
        let live = fleet.daemonsets.iter().filter(|one| !one.deleting);
        let mut layout = Layout {
            names: schedexts.clone().map(|one| part::key(one)).collect(),
            left: live.map(|one| (&one.key, &**one)).collect(),
            doors: HashMap::new(),
        };
        let mut field = Self::default();
        for schedext in schedexts {
            field.add(schedext, &mut layout);
        }
        field.add_left(&mut layout);
        for pod in fleet.pods.iter().filter(|pod| is_there(pod)) {
            if let (Some(node), Some(door)) = (&pod.node, layout.doors.get(&pod.daemonset)) {
                field.running.entry(node).or_default().push(*door);
            }
        }
        field
    }

    fn add(&mut self, schedext: &SchedExt, layout: &mut Layout<'a>) {
        let mut asker = Asker::new(schedext);
        // The base comes last: it has what no pool of its own takes.
        for part in parts(schedext).skip(1).chain(parts(schedext).take(1)) {
            self.add_part(&part, &mut asker, layout);
        }
        self.askers.push(asker);
    }

    /// A part whose DaemonSet's name somebody else has gets no door.
    fn add_part(&mut self, part: &Part<'_>, asker: &mut Asker, layout: &mut Layout<'a>) {
        let key = part.key();
        if let Some(pool) = part.pool_name()
            && layout.names.contains(&key)
        {
            asker.yields.insert(pool.to_owned(), key);
            return;
        }
        let live = layout.left.get(&key).copied();
        if live.is_some_and(|live| live.controller.as_ref() != Some(&asker.uid)) {
            return;
        }
        if let Some(live) = live {
            layout.left.remove(&key);
            layout.doors.insert(&live.uid, self.doors.len());
        }
        let placement = live.map(|live| &live.placement);
        asker.doors.push(self.doors.len());
        self.doors
            .push(Door::wanted(self.askers.len(), part, placement));
    }

    /// DaemonSets of pools and SchedExts that are gone. One that no SchedExt controls is nothing
    /// of ours.
    fn add_left(&mut self, layout: &mut Layout<'a>) {
        let numbered = self.askers.iter().enumerate();
        let askers: HashMap<Uid, usize> = numbered
            .map(|(at, asker)| (asker.uid.clone(), at))
            .collect();
        for live in layout.left.values() {
            if let Some(controller) = &live.controller {
                layout.doors.insert(&live.uid, self.doors.len());
                let asker = askers.get(controller).copied();
                self.doors.push(Door::left(asker, live.placement.clone()));
            }
        }
    }

    /// For each asker a share without any node yet.
    pub(super) fn empty_shares(&self) -> Vec<Share> {
        let wanted = |door: &usize| {
            let wanted = self.doors[*door].wanted.as_ref()?;
            Some((wanted.pool.clone(), PartShare::default()))
        };
        let empty = |asker: &Asker| Share {
            generation: asker.generation,
            parts: asker.doors.iter().filter_map(wanted).collect(),
            yields: asker.yields.clone(),
            ..Share::default()
        };
        self.askers.iter().map(empty).collect()
    }
}
