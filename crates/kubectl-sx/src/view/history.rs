//! The revisions that a status knows.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use sked_api::{GoodRevision, SchedExt};
use sked_plan::part::key;
use sked_plan::revision::revision;
use sked_plan::rollout::current;
use sked_plan::verification::as_recorded;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct HistoryView {
    pub(crate) schedext: String,
    pub(crate) revisions: Vec<HistoryRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct HistoryRow {
    /// Current, LastGood, PreviousGood, Rejected.
    pub(crate) role: &'static str,
    pub(crate) revision: String,
    pub(crate) image: Option<String>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) reason: Option<String>,
}

/// The newest first.
pub(crate) fn view(schedext: &SchedExt) -> HistoryView {
    let recorded = as_recorded(schedext);
    let schedext: &SchedExt = &recorded;
    let status = schedext.status.clone().unwrap_or_default();
    let record = current(schedext);
    let now = HistoryRow {
        role: "Current",
        revision: revision(schedext),
        image: Some(schedext.spec.sched.clone()),
        since: record.map(|record| record.since.0),
        reason: record.map(|record| record.phase.as_str().to_owned()),
    };
    let rejected = status.rejected.as_ref().map(|one| HistoryRow {
        role: "Rejected",
        revision: one.revision.clone(),
        // The status does not keep what failed, except if the spec still asks for it.
        image: (one.revision == now.revision).then(|| schedext.spec.sched.clone()),
        since: Some(one.time.0),
        reason: Some(match one.node.as_str() {
            "" => format!("{}: {}", one.reason, one.message),
            node => format!("{} on {node}: {}", one.reason, one.message),
        }),
    });
    let last = status.last_good.as_ref().map(|one| good("LastGood", one));
    let previous = status.previous_good.as_ref();
    let previous = previous.map(|one| good("PreviousGood", one));
    let revisions = [Some(now), rejected, last, previous];
    HistoryView {
        schedext: key(schedext).to_string(),
        revisions: revisions.into_iter().flatten().collect(),
    }
}

fn good(role: &'static str, good: &GoodRevision) -> HistoryRow {
    HistoryRow {
        role,
        revision: good.revision.clone(),
        image: image(&good.spec),
        since: Some(good.since.0),
        reason: None,
    }
}

fn image(spec: &Map<String, Value>) -> Option<String> {
    spec.get("sched")?.as_str().map(str::to_owned)
}
