//! What sked would write, carried out in the snapshot's copy only, until sked would wait for something
//! that is not its own: a pod, a kernel, time.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use sked_api::{SchedExt, SchedExtStatus};
use sked_plan::check::{Violation, check_plan};
use sked_plan::claim::{LabelWrite, OwnerLabel};
use sked_plan::part::{key, uid};
use sked_plan::plan::{Outcome, Plan, PlanStep, plan};
use sked_plan::rollout::record_key;
use sked_plan::status::status;
use sked_plan::verification::assume_accepted;
use sked_plan::{LiveDaemonSet, ObjectKey};

use super::Snapshot;
use crate::manager::stores::{SchedExtEntry, Source, node_key};

/// More rounds than any change needs: a plan that never settles is a bug, and is reported as one.
const ROUNDS: usize = 30;

/// One write, in the order in which sked would do it. Statuses are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum SimulatedWrite {
    Label(LabelWrite),
    DaemonSet(PlanStep),
}

/// What sked would do until it waits.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    pub writes: Vec<SimulatedWrite>,
    /// The plan and the status of each SchedExt then.
    pub ends: Vec<End>,
    /// Rules that a plan breaks: sked would not execute it.
    pub violations: Vec<Violation>,
}

/// How one SchedExt is when sked waits.
#[derive(Clone, Debug)]
pub struct End {
    pub key: ObjectKey,
    pub plan: Plan,
    pub status: SchedExtStatus,
}

impl Snapshot {
    /// Puts a SchedExt of a file into the copy: a new one, or a new spec of the one that is there.
    /// Returns whether it changes anything.
    pub fn put(&mut self, mut file: SchedExt) -> bool {
        let key = key(&file);
        if let Some(rollout) = &mut file.spec.rollout {
            rollout.fill_in();
        }
        let old = self.stores.schedexts.get(&key);
        let old = old.as_deref().and_then(SchedExtEntry::schedext);
        let changes = old.is_none_or(|old| old.spec != file.spec);
        match old {
            Some(old) => {
                let generation = old.metadata.generation.unwrap_or_default();
                let annotations = file.metadata.annotations.take();
                file.metadata = old.metadata.clone();
                file.metadata.generation = Some(generation + i64::from(changes));
                if let Some(annotations) = annotations {
                    let all = file.metadata.annotations.get_or_insert_default();
                    all.extend(annotations);
                }
                file.status = old.status.clone();
                assume_accepted(&mut file);
            }
            None => {
                file.metadata.uid = Some(format!("planned/{key}"));
                file.metadata.generation = Some(1);
                file.metadata.creation_timestamp = Some(Time(Timestamp::now()));
                file.status = None;
            }
        }
        self.store(file);
        self.claim();
        changes
    }

    /// Carries out in the copy what sked would write for these SchedExts.
    pub fn settle(&mut self, keys: &[ObjectKey]) -> Settled {
        let mut settled = Settled::default();
        for _ in 0..ROUNDS {
            settled.ends.clear();
            settled.violations.clear();
            if !self.round(keys, &mut settled) {
                break;
            }
        }
        settled
    }

    /// Returns whether anything was written: then there may be more.
    fn round(&mut self, keys: &[ObjectKey], settled: &mut Settled) -> bool {
        self.claim();
        let labels = self.claims.writes.clone();
        for write in &labels {
            self.write_label(write);
            settled.writes.push(SimulatedWrite::Label(write.clone()));
        }
        if !labels.is_empty() {
            return true;
        }
        let mut has_written = false;
        for key in keys {
            let Some(observed) = self.observe(key) else {
                continue;
            };
            let plan = plan(&observed);
            let violations = check_plan(&observed, &plan);
            if !violations.is_empty() {
                settled.violations.extend(violations);
                continue;
            }
            // A touch repeats what was written.
            let steps = plan.steps.iter();
            let steps = steps.filter(|step| !matches!(step, PlanStep::Touch { .. }));
            for step in steps {
                self.write_daemonset(step);
                has_written = true;
                settled.writes.push(SimulatedWrite::DaemonSet(step.clone()));
            }
            if has_written {
                continue;
            }
            let status = status(&observed, &plan, &Outcome::default());
            let mut next = SchedExt::clone(observed.stored());
            next.status = Some(status.clone());
            has_written = record_key(&next) != record_key(observed.stored())
                || observed.stored().status.is_none();
            self.store(next);
            settled.ends.push(End {
                key: key.clone(),
                plan,
                status,
            });
        }
        has_written
    }

    fn store(&mut self, schedext: SchedExt) {
        let entry = SchedExtEntry::Read {
            uid: uid(&schedext),
            schedext: Arc::new(schedext),
        };
        // Without a version nothing in the store is later.
        self.stores.schedexts.put(Source::OwnWrite, "", entry);
    }

    fn write_label(&mut self, write: &LabelWrite) {
        let Some(node) = self.stores.nodes.get(&node_key(&write.node)) else {
            return;
        };
        let mut node = (*node).clone();
        let label = sked_api::label::OWNER;
        match &write.to {
            Some(to) => node
                .labels
                .insert(label.to_owned(), OwnerLabel::to_string(to)),
            None => node.labels.remove(label),
        };
        self.stores.nodes.put(Source::OwnWrite, "", node);
    }

    fn write_daemonset(&mut self, step: &PlanStep) {
        match step {
            PlanStep::Create(desired) => self.store_daemonset(desired, None),
            PlanStep::Replace { desired, uid } => {
                let live = self.daemonset(uid);
                self.store_daemonset(desired, live.as_deref());
            }
            PlanStep::Delete { key, .. } => {
                self.stores.daemonsets.remove(Source::OwnWrite, key);
            }
            PlanStep::Touch { .. } => {}
        }
    }

    /// As the API server would store it. No DaemonSet controller has seen it yet.
    fn store_daemonset(&mut self, desired: &DaemonSet, live: Option<&LiveDaemonSet>) {
        let Ok(mut object) = serde_json::to_value(desired) else {
            return;
        };
        let metadata = &mut object["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let uid = match live {
            Some(live) => live.uid.0.clone(),
            None => format!("planned/{namespace}/{name}"),
        };
        metadata["uid"] = Value::String(uid);
        metadata["resourceVersion"] = json!("0");
        metadata["generation"] = json!(live.map_or(1, |live| live.generation + 1));
        object["status"] = json!({
            "observedGeneration": live.map_or(0, |live| live.observed_generation),
            "desiredNumberScheduled": live.map_or(0, |live| live.desired),
            "numberReady": live.map_or(0, |live| live.ready),
        });
        if let Ok(live) = LiveDaemonSet::read(&object) {
            self.stores.daemonsets.put(Source::OwnWrite, "", live);
        }
    }
}
