//! Who owns which node, kept true: a loop of its own beside the SchedExts' reconciliation.
//!
//! ```text
//! nodes, SchedExts, DaemonSets, pods ─change▶ Fleet ─claim▶ check ─▶ labels written ─▶ shares published
//!        ▲                                                              │                   │ whose share
//!        └──────────────── once more, when a label was written ◀────────┘                   ▼ changed: queue
//! ```
//!
//! The only writer of nodes, and of nothing on them but the owner label.

mod lasting;
mod patience;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use http::header;
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use sked_plan::check::check_claims;
use sked_plan::claim::{Claims, LabelWrite, Share, claim};
use sked_plan::standing::{Bar, Standing};
use sked_plan::{Node, Uid};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::leadership::{Leadership, WriteError};
use crate::observe::{Looks, fleet, standings};
use crate::queue::Queue;
use crate::stop::Stop;
use crate::stores::{Kept, Stores, node_key};

use lasting::Lasting;
use patience::Patience;

/// Each SchedExt's part.
pub(crate) type Shares = BTreeMap<Uid, Arc<Share>>;

/// How many labels are written at the same time: each makes the DaemonSet controller look at
/// every DaemonSet.
const AT_ONCE: usize = 8;
/// How long changes are gathered, at least.
const GATHER: Duration = Duration::from_millis(50);
/// How long they are gathered, at most.
const LONGEST_REST: Duration = Duration::from_secs(5);
/// How long to breathe when others write against us.
const BREATH: Duration = Duration::from_secs(1);

/// How it went.
struct Settled {
    /// When to look again if nothing happens.
    due: Option<Instant>,
    /// How long it took to work out, without the writes.
    thought: Duration,
}

/// Keeps the claims true.
pub(crate) struct Claimer {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) news: Arc<Notify>,
    /// Whether every scheduler's pod can be seen: else one of another manager would look like
    /// somebody else's, and taking its node from it would end it.
    pub(crate) sees_all: bool,
    pub(crate) shares: watch::Sender<Arc<Shares>>,
}

impl Claimer {
    /// Works until asked to stop.
    pub(crate) async fn run(&self, mut stop: Stop) {
        let mut patience = Patience::default();
        let mut lasting = Lasting::default();
        loop {
            let Settled { due, thought } = self.settle(&mut patience, &mut lasting, &stop).await;
            // While much changes at once, a twentieth of the time goes into thinking; a change
            // after a quiet while need not wait for that.
            let rested = Instant::now() + (thought * 19).min(LONGEST_REST);
            let again = async {
                match due {
                    None => self.news.notified().await,
                    Some(due) => {
                        let _ = tokio::time::timeout_at(due, self.news.notified()).await;
                    }
                }
                tokio::time::sleep_until(rested.max(Instant::now() + GATHER)).await;
            };
            tokio::select! {
                () = again => {}
                () = stop.asked() => return,
            }
        }
    }

    /// Works out the claims until no label is left to write now.
    async fn settle(&self, patience: &mut Patience, lasting: &mut Lasting, stop: &Stop) -> Settled {
        let mut thought = Duration::ZERO;
        // Each round writes what the last one could not know; more rounds than this mean that
        // somebody writes against us, and then it is time to breathe.
        for _ in 0..4 {
            let begin = Instant::now();
            let (writes, lasts) = self.think(lasting);
            thought += begin.elapsed();
            let (writes, due) = patience.due(writes, Instant::now());
            let due = [due, lasts].into_iter().flatten().min();
            if writes.is_empty() {
                return Settled { due, thought };
            }
            self.write_all(writes, patience, stop.clone()).await;
        }
        let due = Some(Instant::now() + BREATH);
        Settled { due, thought }
    }

    /// Who owns which node, published; the labels that are to be written. None when the answer
    /// breaks the rules: only something new can change that. And when to think again because
    /// something will have lasted.
    fn think(&self, lasting: &mut Lasting) -> (Vec<LabelWrite>, Option<Instant>) {
        let mut seen = standings(&self.stores);
        if !self.sees_all {
            seen.iter_mut().for_each(overlook_foreign);
        }
        let (standing, lasts) = lasting.settle(seen, Instant::now());
        let fleet = fleet(&self.stores, standing);
        let claims = claim(&fleet);
        let violations = check_claims(&fleet, &claims);
        if !violations.is_empty() {
            tracing::error!(?violations, "claims that break the rules are not written");
            return (Vec::new(), None);
        }
        let Claims { shares, writes } = claims;
        self.publish(shares);
        (writes, lasts)
    }

    /// Wakes those whose share changed.
    fn publish(&self, shares: Shares) {
        let before = self.shares.borrow().clone();
        let changed: Vec<_> = shares
            .iter()
            .filter(|(uid, share)| before.get(uid) != Some(share))
            .map(|(uid, _)| uid.clone())
            .collect();
        self.shares.send_replace(Arc::new(shares));
        for uid in changed {
            for seen in self.stores.schedexts.group(&uid) {
                self.queue.now(&seen.key());
            }
        }
    }

    /// One line tells of all that were not taken: a missing right concerns every node. Thousands
    /// may be left when the wish to stop comes: those that are not begun stay for the next manager.
    async fn write_all(&self, writes: Vec<LabelWrite>, patience: &mut Patience, mut stop: Stop) {
        let count = writes.len();
        let answers: Vec<_> = stream::iter(writes)
            .take_until(std::pin::pin!(stop.asked()))
            .map(|write| async move {
                let answer = self.write(&write).await;
                (write, answer)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let now = Instant::now();
        let mut written = 0;
        let mut refused = Vec::new();
        for (write, answer) in answers {
            match answer {
                Ok(Written::Taken) => {
                    written += 1;
                    patience.taken(&write.node);
                }
                Ok(Written::NodeGone) => patience.refused(write, now),
                Err(error) => {
                    refused.push((write.node.clone(), error));
                    patience.refused(write, now);
                }
            }
        }
        if let Some((node, error)) = refused.first() {
            let error = crate::retry::chain(error);
            let refused = refused.len();
            tracing::warn!(%node, refused, "cannot write the owner label: {error}");
        }
        if written > 0 {
            tracing::info!(written, of = count, "owner labels");
        }
    }

    async fn write(&self, write: &LabelWrite) -> Result<Written, WriteError> {
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
        let made: Made = match self.leadership.write(self.client.request(request)).await {
            // The watch says so any moment.
            Err(error) if error.status() == Some(404) => return Ok(Written::NodeGone),
            made => made?,
        };
        let Some(before) = self.stores.nodes.get(&node_key(node)) else {
            return Ok(Written::NodeGone);
        };
        // Remembered at once, so that the next round does not write it again.
        let Made { metadata } = made;
        let labels = metadata.labels;
        self.stores.nodes.put(
            &metadata.resource_version,
            Node {
                labels,
                ..Node::clone(&before)
            },
        );
        Ok(Written::Taken)
    }
}

/// Whoever does not see every scheduler's pod cannot tell somebody else's scheduler.
fn overlook_foreign(looks: &mut Looks) {
    if let Some(Standing::Barred(Bar::Foreign(_))) = looks.standing {
        looks.standing = Some(Standing::Free);
    }
}

/// What became of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// It is there.
    Taken,
    /// There is no such node any more.
    NodeGone,
}

/// What the API server answers.
#[derive(Debug, Deserialize)]
struct Made {
    metadata: MadeMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeMetadata {
    resource_version: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// A JSON patch that fails unless the label still says what was seen. Every node has labels: kubelet
/// writes some.
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
    fn a_label_is_written_only_over_what_was_seen() {
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
