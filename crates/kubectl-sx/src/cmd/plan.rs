//! `kubectl sx plan -f FILE`: what sked would do, computed by sked's own planner in a copy of the
//! cluster. Nothing is written.

use std::path::Path;
use std::sync::Arc;

use kube::api::{Api, ApiResource, DynamicObject};
use sked::snapshot::Snapshot;
use sked::snapshot::simulate::{Settled, SimulatedWrite};
use sked_api::SchedExt;
use sked_plan::ObjectKey;
use sked_plan::fingerprint::differences;
use sked_plan::part::key;
use sked_plan::plan::PlanStep;
use sked_plan::verification::{images, unaccepted, was_on};

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
            .chain(unverified(&snapshot.schedexts(), &changes))
            .collect(),
    };
    printer.print(&view)?;
    Ok(Exit::Ok)
}

/// What sked would look at before it writes anything. Of a new SchedExt only those of others tell
/// whether it would.
fn unverified(all: &[Arc<SchedExt>], changes: &[(ObjectKey, Change)]) -> Vec<String> {
    let has_policy = all.iter().any(|one| was_on(one));
    let change = |one: &SchedExt| {
        let mut changes = changes.iter();
        changes
            .find(|(changed, _)| *changed == key(one))
            .map(|(_, change)| *change)
    };
    let waiting = all.iter().filter_map(|one| {
        let (images, then) = match change(one)? {
            Change::New if has_policy => (
                images(one).into_iter().map(str::to_owned).collect(),
                "until the trust policy accepts it, nothing is written, and then its digest",
            ),
            _ if was_on(one) => (
                unaccepted(one),
                "until the trust policy accepts it, what runs goes on",
            ),
            _ => return None,
        };
        (!images.is_empty()).then(|| {
            format!(
                "{}: the manager verifies {} first; {then}",
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schedext(name: &str, status: &Value) -> Arc<SchedExt> {
        let object = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
            "metadata": {"name": name, "namespace": "b"}, "spec": {"sched": "r.example/x:1"},
            "status": status});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_new_schedext_is_verified_where_others_are() {
        let new = schedext("new", &json!({"verification": "not verified"}));
        let changes = [(key(&new), Change::New)];
        for (of_others, notes) in [("verified", 1), ("not verified", 0)] {
            let other = schedext("other", &json!({"verification": of_others}));
            let found = unverified(&[Arc::clone(&new), other], &changes);
            assert_eq!(found.len(), notes, "{of_others}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|note| note.contains("verifies r.example/x:1 first"))
            );
        }
    }
}
