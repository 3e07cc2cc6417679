//! Watches this node's own report and nothing else: others may delete or change it, and the garbage
//! collector deletes it with its Node.
//!
//! ```text
//!  list ──▶ watch ──timeout──▶ watch again, from the last version
//!   ▲         ├──ended early──▶ list: the API server may have been restored from a backup
//!   ▲         └──error, or version too old──▶ Lost ──backoff──┐
//!   └──────────────────────────────────────────────────────────┘
//! ```
//!
//! kube's own watcher does not report when a failed watch works again, and the agent's readiness
//! depends on that.

use std::time::Duration;

use futures::TryStreamExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use sked_api::node::SchedExtNode;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use super::random::Random;
use super::report_sync::{BACKOFF, PublishedReport, ReportEvent};
use super::write::WriteError;
use crate::error_chain::chain;

/// For the start of a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A watch that lasted this long resets the backoff.
const SUCCESS_TIME: Duration = Duration::from_secs(10);
/// The timeout in seconds that the API server applies to a watch, plus up to fifty more: the watch
/// ends before the client considers the idle connection broken, and not for all agents at once.
const WATCH_TIMEOUT: u32 = 240;

/// Sends all events until the receiver is dropped.
pub(super) async fn follow(
    api: Api<SchedExtNode>,
    name: String,
    mut random: Random,
    sender: Sender<ReportEvent>,
) {
    let mut backoff = BACKOFF;
    loop {
        let mut round = Round {
            api: &api,
            field_selector: format!("metadata.name={name}"),
            sender: &sender,
            watched_since: None,
        };
        let Err(end) = round.follow(&mut random).await;
        if round
            .watched_since
            .is_some_and(|since| since.elapsed() > SUCCESS_TIME)
        {
            backoff.succeeded();
        }
        match end {
            RoundEnd::NoReceiver => return,
            RoundEnd::EndedEarly => {}
            RoundEnd::Failed(error) => {
                let lost = ReportEvent::Lost(chain(&error));
                if sender.send(lost).await.is_err() {
                    return;
                }
            }
        }
        sleep(backoff.failed_with_jitter(random())).await;
    }
}

/// One list and the watches that continue it.
struct Round<'a> {
    api: &'a Api<SchedExtNode>,
    field_selector: String,
    sender: &'a Sender<ReportEvent>,
    watched_since: Option<Instant>,
}

/// Why a round ended.
enum RoundEnd {
    Failed(WriteError),
    /// The API server ended a watch before its timeout, as it does when it is stopped. It may have
    /// been restored from a backup: a watch from a version that does not exist yet gets no events.
    EndedEarly,
    /// The receiver was dropped.
    NoReceiver,
}

impl From<WriteError> for RoundEnd {
    fn from(error: WriteError) -> Self {
        Self::Failed(error)
    }
}

impl Round<'_> {
    async fn follow(&mut self, random: &mut Random) -> Result<std::convert::Infallible, RoundEnd> {
        let params = ListParams::default().fields(&self.field_selector);
        let list = with_timeout(self.api.list(&params)).await?;
        let mut version = list.metadata.resource_version.unwrap_or_default();
        let report = list.items.into_iter().next().map(PublishedReport::from);
        self.send(ReportEvent::Listed(report)).await?;
        loop {
            let begin = Instant::now();
            let seconds = WATCH_TIMEOUT + (random() * 50.0) as u32;
            version = self.watch(version, seconds).await?;
            // The API server may have ended the watches of all agents.
            sleep(Duration::from_secs(1).mul_f64(random())).await;
            if begin.elapsed() < Duration::from_secs(seconds.into()) {
                return Err(RoundEnd::EndedEarly);
            }
        }
    }

    /// Returns the version at which the next watch starts.
    async fn watch(&mut self, mut version: String, seconds: u32) -> Result<String, RoundEnd> {
        let params = WatchParams::default()
            .fields(&self.field_selector)
            .timeout(seconds);
        let events = with_timeout(self.api.watch(&params, &version)).await?;
        let mut events = std::pin::pin!(events);
        self.watched_since.get_or_insert_with(Instant::now);
        self.send(ReportEvent::Watching).await?;
        while let Some(event) = events.try_next().await.map_err(WriteError::from)? {
            let report_event = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    version = resource_version(&object).unwrap_or(version);
                    ReportEvent::Changed(object.into())
                }
                WatchEvent::Deleted(object) => {
                    version = resource_version(&object).unwrap_or(version);
                    ReportEvent::Deleted(PublishedReport::from(object).version)
                }
                WatchEvent::Bookmark(mark) => {
                    version = mark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => {
                    return Err(WriteError::from(kube::Error::Api(status)).into());
                }
            };
            self.send(report_event).await?;
        }
        Ok(version)
    }

    async fn send(&self, event: ReportEvent) -> Result<(), RoundEnd> {
        self.sender
            .send(event)
            .await
            .map_err(|_| RoundEnd::NoReceiver)
    }
}

fn resource_version(object: &SchedExtNode) -> Option<String> {
    object.metadata.resource_version.clone()
}

async fn with_timeout<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WriteError> {
    match timeout(TIMEOUT, request).await {
        Ok(response) => response.map_err(WriteError::from),
        Err(_) => Err(WriteError::Timeout),
    }
}
