//! The claims loop: decides which SchedExt owns which node and writes the owner labels. It runs
//! beside the reconciliation of SchedExts.
//!
//! ```text
//! nodes, SchedExts, DaemonSets, pods ─change▶ Fleet ─claim▶ check ─▶ publish assignments ─▶ write labels
//!        ▲                                                              │ changed ones go        │
//!        │                                                              ▼ to the queue           │
//!        └──────────────── again, after a label was written ◀────────────────────────────────────┘
//! ```
//!
//! This is the only writer of nodes, and it writes nothing but the owner label.

mod checked;
mod refused_labels;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use http::header;
use kube::Client;
use serde_json::{Value, json};
use sked_plan::Node;
use sked_plan::assignment::Assignments;
use sked_plan::claim::{Claims, LabelWrite};
use sked_plan::debounce::Debounce;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::error_chain::chain;
use crate::manager::leadership::Leadership;
use crate::manager::observe::{fleet, node_views};
use crate::manager::queue::Queue;
use crate::manager::stores::{Decoded, Stored, Stores, Watched};
use crate::manager::verification::Verifying;
use crate::manager::write_error::WriteError;
use crate::stop::Stop;

use checked::ignore_foreign;
use refused_labels::RefusedLabels;

pub(crate) use checked::{checked_claims, eligibility_seen};

/// How many labels are written concurrently: each write makes the DaemonSet controller process
/// every DaemonSet.
const CONCURRENT_WRITES: usize = 8;
/// The shortest time for which changes are gathered.
const GATHER: Duration = Duration::from_millis(50);
/// The longest time for which changes are gathered.
const LONGEST_GATHER: Duration = Duration::from_secs(5);
/// How long to pause when another client keeps reverting our labels.
const CONFLICT_PAUSE: Duration = Duration::from_secs(1);

/// The result of one run of the loop.
struct Settled {
    /// When to run again even if nothing changes.
    due: Option<Instant>,
    /// How long the computation took, without the writes.
    computed_for: Duration,
}

pub(crate) struct ClaimsLoop {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) changed: Arc<Notify>,
    /// Whether this manager watches all namespaces. Otherwise the scheduler of another manager would
    /// look foreign, and excluding its node would stop it.
    pub(crate) watches_all_namespaces: bool,
    pub(crate) verifying: Verifying,
    pub(crate) assignments: watch::Sender<Arc<Assignments>>,
}

impl ClaimsLoop {
    /// Runs until a stop is requested.
    pub(crate) async fn run(&self, mut stop: Stop) {
        let mut refused = RefusedLabels::default();
        let mut debounce = Debounce::default();
        loop {
            let Settled { due, computed_for } =
                self.settle(&mut refused, &mut debounce, &stop).await;
            // While much changes, at most a twentieth of the time is spent on computing claims; a
            // change after a quiet period is handled at once.
            let rested = Instant::now() + (computed_for * 19).min(LONGEST_GATHER);
            let again = async {
                match due {
                    None => self.changed.notified().await,
                    Some(due) => {
                        let _ = tokio::time::timeout_at(due, self.changed.notified()).await;
                    }
                }
                tokio::time::sleep_until(rested.max(Instant::now() + GATHER)).await;
            };
            tokio::select! {
                () = again => {}
                () = stop.requested() => return,
            }
        }
    }

    /// Computes the claims and writes labels until no label is left to write now.
    async fn settle(
        &self,
        refused: &mut RefusedLabels,
        debounce: &mut Debounce,
        stop: &Stop,
    ) -> Settled {
        let mut computed_for = Duration::ZERO;
        // A round writes what the round before could not know. More rounds than this mean that
        // another client reverts our labels: then pause.
        for _ in 0..4 {
            let begin = Instant::now();
            let (writes, debounced) = self.compute(debounce);
            computed_for += begin.elapsed();
            let (writes, retry) = refused.due(writes, Instant::now());
            let due = [retry, debounced].into_iter().flatten().min();
            if writes.is_empty() {
                return Settled { due, computed_for };
            }
            self.write_all(writes, refused, stop.clone()).await;
        }
        let due = Some(Instant::now() + CONFLICT_PAUSE);
        Settled { due, computed_for }
    }

    /// Computes and publishes the claims. Returns the label writes, and when a debounced change takes
    /// effect. Claims that break a rule are neither published nor written; those of other SchedExts
    /// are.
    fn compute(&self, debounce: &mut Debounce) -> (Vec<LabelWrite>, Option<Instant>) {
        let mut views = node_views(&self.stores);
        if !self.watches_all_namespaces {
            views.iter_mut().for_each(ignore_foreign);
        }
        let (eligibility, due) = debounce.settle(views, Instant::now().into_std());
        let due = due.map(Instant::from_std);
        let fleet = fleet(&self.stores, &self.verifying, eligibility);
        let before = Arc::clone(&self.assignments.borrow());
        let Some(claims) = checked_claims(&fleet, &before) else {
            return (Vec::new(), due);
        };
        let Claims {
            assignments,
            writes,
        } = claims;
        self.publish(assignments);
        (writes, due)
    }

    /// Queues the SchedExts whose assignment changed.
    fn publish(&self, assignments: Assignments) {
        let before = self.assignments.borrow().clone();
        let changed: Vec<_> = assignments
            .iter()
            .filter(|(uid, assignment)| before.get(uid) != Some(assignment))
            .map(|(uid, _)| uid.clone())
            .collect();
        self.assignments.send_replace(Arc::new(assignments));
        for uid in changed {
            for seen in self.stores.schedexts.group(&uid) {
                self.queue.now(&seen.key());
            }
        }
    }

    /// Logs one line for all failures, because a missing permission concerns every node. When a stop
    /// is requested, writes that have not started are left to the next manager.
    async fn write_all(
        &self,
        writes: Vec<LabelWrite>,
        refused: &mut RefusedLabels,
        mut stop: Stop,
    ) {
        let count = writes.len();
        let results: Vec<_> = stream::iter(writes)
            .take_until(std::pin::pin!(stop.requested()))
            .map(|write| async move {
                let result = self.write(&write).await;
                (write, result)
            })
            .buffer_unordered(CONCURRENT_WRITES)
            .collect()
            .await;
        let now = Instant::now();
        let mut written = 0;
        let mut errors = Vec::new();
        for (write, result) in results {
            match result {
                Ok(LabelResult::Written) => {
                    written += 1;
                    refused.succeeded(&write.node);
                }
                Ok(LabelResult::NodeGone) => refused.failed(write, now),
                Err(error) => {
                    errors.push((write.node.clone(), error));
                    refused.failed(write, now);
                }
            }
        }
        if let Some((node, error)) = errors.first() {
            let error = chain(error);
            let failed = errors.len();
            tracing::warn!(%node, failed, "cannot write the owner label: {error}");
        }
        if written > 0 {
            tracing::info!(written, of = count, "wrote owner labels");
        }
    }

    async fn write(&self, write: &LabelWrite) -> Result<LabelResult, WriteError> {
        let LabelWrite { node, from, to } = write;
        let name = node.to_string();
        let body = patch(
            from.as_deref(),
            to.as_ref().map(ToString::to_string).as_deref(),
        );
        let request = http::Request::patch(format!("/api/v1/nodes/{name}"))
            .header(header::CONTENT_TYPE, "application/json-patch+json")
            .body(body.to_string().into_bytes())
            .map_err(|error| WriteError::Api(Box::new(kube::Error::HttpError(error))))?;
        let response: Decoded<Node> =
            match self.leadership.write(self.client.request(request)).await {
                // The watch reports the deletion shortly.
                Err(error) if error.status() == Some(404) => return Ok(LabelResult::NodeGone),
                response => response?,
            };
        // Stored at once, so that the next round does not write it again.
        let version = response.meta.resource_version.unwrap_or_default();
        if let Some(node) = Node::read(response.raw) {
            self.stores.nodes.update(&version, node);
        }
        Ok(LabelResult::Written)
    }
}

/// The result of a label write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LabelResult {
    Written,
    NodeGone,
}

/// A JSON patch that fails if the label has changed. `/metadata/labels` always exists, because
/// kubelet sets labels on every node.
fn patch(from: Option<&str>, to: Option<&str>) -> Value {
    let path = format!(
        "/metadata/labels/{}",
        sked_api::label::OWNER.replace('/', "~1")
    );
    let test = json!({"op": "test", "path": path, "value": from});
    let write = match to {
        Some(to) => json!({"op": "add", "path": path, "value": to}),
        None => json!({"op": "remove", "path": path}),
    };
    json!([test, write])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_written_only_over_the_observed_value() {
        let path = "/metadata/labels/sked.schedkit.io~1owner";
        assert_eq!(
            patch(None, Some("a")),
            json!([{"op": "test", "path": path, "value": null}, {"op": "add", "path": path, "value": "a"}])
        );
        assert_eq!(
            patch(Some("a"), None),
            json!([{"op": "test", "path": path, "value": "a"}, {"op": "remove", "path": path}])
        );
    }
}
