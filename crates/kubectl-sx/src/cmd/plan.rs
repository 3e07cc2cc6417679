//! `kubectl sx plan -f FILE`: what sked would do, computed by sked's own planner in a copy of the
//! cluster. Nothing is written.

use std::path::Path;

use kube::api::{Api, ApiResource, DynamicObject};
use sked::snapshot::Snapshot;
use sked::snapshot::simulate::{Settled, SimulatedWrite};
use sked_plan::ObjectKey;
use sked_plan::fingerprint::differences;
use sked_plan::part::key;
use sked_plan::plan::PlanStep;
use sked_plan::verification::{unaccepted, was_on};

use crate::cluster::{Cluster, notes};
use crate::error::Error;
use crate::exit::Exit;
use crate::manifest;
use crate::output::Printer;
use crate::schedexts::SchedExts;
use crate::view::plan::{
    Change, PlanView, WriteView, label_names, owner_changes, owners, schedext, write,
};

pub(super) async fn plan(
    cluster: &Cluster,
    file: &Path,
    server_dry_run: bool,
    printer: &Printer,
) -> Result<Exit, Error> {
    let text = manifest::read(file)?;
    let files = manifest::parse(file, &text, &cluster.namespace)?;
    if server_dry_run {
        for one in &files {
            SchedExts::new(cluster).dry_run(&key(one), one).await?;
        }
    }
    let mut snapshot = cluster.whole_snapshot().await?;
    let before = owners(&snapshot);
    let mut changes: Vec<(ObjectKey, Change)> = Vec::new();
    for one in files {
        let key = key(&one);
        let is_known = snapshot.knows(&key);
        let change = match (is_known, snapshot.put(one)) {
            (false, _) => Change::New,
            (true, true) => Change::Changed,
            (true, false) => Change::Unchanged,
        };
        changes.push((key, change));
    }
    let keys: Vec<_> = changes.iter().map(|(key, _)| key.clone()).collect();
    let settled = snapshot.settle(&keys);
    if let Some(violation) = settled.violations.first() {
        return Err(Error::Violation(violation.to_string()));
    }
    let planned = settled.ends.iter().map(|end| {
        let change = changes.iter().find(|(key, _)| *key == end.key);
        let change = change.map_or(Change::Unchanged, |(_, change)| *change);
        schedext(&snapshot, end, change)
    });
    let view = PlanView {
        schedexts: planned.collect(),
        writes: writes(cluster, &snapshot, &settled).await,
        nodes: owner_changes(&before, &owners(&snapshot)),
        notes: notes(&snapshot)
            .into_iter()
            .chain(unverified(&snapshot, &keys))
            .collect(),
    };
    printer.print(&view)?;
    Ok(Exit::Ok)
}

/// What sked would look at before it writes anything.
fn unverified(snapshot: &Snapshot, keys: &[ObjectKey]) -> Vec<String> {
    let all = snapshot.schedexts();
    let asked = all
        .iter()
        .filter(|one| keys.contains(&key(one)) && was_on(one));
    let waiting = asked.filter_map(|one| {
        let images = unaccepted(one);
        (!images.is_empty()).then(|| {
            format!(
                "{}: the manager verifies {} first; until the trust policy accepts it, what runs goes on",
                key(one),
                images.join(", ")
            )
        })
    });
    waiting.collect()
}

async fn writes(cluster: &Cluster, snapshot: &Snapshot, settled: &Settled) -> Vec<WriteView> {
    let labels = label_names(snapshot);
    let mut views = Vec::new();
    for one in &settled.writes {
        let differs = match one {
            SimulatedWrite::DaemonSet(PlanStep::Replace { desired, .. }) => {
                let metadata = &desired.metadata;
                let namespace = metadata.namespace.as_deref().unwrap_or_default();
                let name = metadata.name.as_deref().unwrap_or_default();
                let desired = serde_json::to_value(desired).unwrap_or_default();
                let live = live(cluster, namespace, name).await;
                live.map_or_else(Vec::new, |live| differences(&live, &desired))
            }
            _ => Vec::new(),
        };
        views.extend(write(one, &labels, differs));
    }
    views
}

/// The DaemonSet as it is. Without it the plan does not say which fields differ.
async fn live(cluster: &Cluster, namespace: &str, name: &str) -> Option<serde_json::Value> {
    let resource = ApiResource::erase::<k8s_openapi::api::apps::v1::DaemonSet>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(cluster.client.clone(), namespace, &resource);
    let live = api.get(name).await.ok()?;
    serde_json::to_value(live).ok()
}
