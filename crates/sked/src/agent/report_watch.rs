//! The watch of this node's own report, and of nothing else: somebody may delete or change it, and
//! the garbage collector takes the report of a Node that went.
//!
//! ```text
//!  list ──▶ watch ──its time is over──▶ watch again, from where it ended
//!   ▲         └──broken, or too old──▶ Lost ──a pause, longer each time──┐
//!   └────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! It never writes. kube's own watcher does not tell when a broken watch works again, and that is
//! what readiness hangs on.

use std::time::Duration;

use futures::TryStreamExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use sked_api::node::SchedExtNode;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use super::ledger::{News, Report};
use super::pace::{Backoff, Dice};
use super::write::WriteError;

/// How long the API server may take to begin an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A watch that lasted so long was a success.
const LASTING: Duration = Duration::from_secs(10);
/// The API server is asked to end a watch after this long, and up to fifty seconds more: it ends
/// before the client takes the silence for a broken connection, and not everybody's at once.
const WATCH: u32 = 240;

/// Tells all news, until nobody listens.
pub(super) async fn follow(
    api: Api<SchedExtNode>,
    name: String,
    mut dice: Dice,
    tell: Sender<News>,
) {
    let mut backoff = Backoff::default();
    loop {
        let mut round = Round {
            api: &api,
            only: format!("metadata.name={name}"),
            tell: &tell,
            followed_since: None,
        };
        let Err(ended) = round.follow(&mut dice).await;
        if round
            .followed_since
            .is_some_and(|since| since.elapsed() > LASTING)
        {
            backoff.succeeded();
        }
        let Ended::Broken(error) = ended else { return };
        let lost = News::Lost(crate::retry::chain(&error));
        if tell.send(lost).await.is_err() {
            return;
        }
        sleep(backoff.failed(&mut dice)).await;
    }
}

struct Round<'a> {
    api: &'a Api<SchedExtNode>,
    only: String,
    tell: &'a Sender<News>,
    followed_since: Option<Instant>,
}

/// Why a round is over.
enum Ended {
    /// The API server or the way to it.
    Broken(WriteError),
    /// Nobody listens.
    Deaf,
}

impl From<WriteError> for Ended {
    fn from(error: WriteError) -> Self {
        Self::Broken(error)
    }
}

impl Round<'_> {
    /// One list and watches for as long as they follow on each other.
    async fn follow(&mut self, dice: &mut Dice) -> Result<std::convert::Infallible, Ended> {
        let params = ListParams::default().fields(&self.only);
        let list = answer(self.api.list(&params)).await?;
        let mut version = list.metadata.resource_version.unwrap_or_default();
        let report = list.items.into_iter().next().map(Report::from);
        self.say(News::Listed(report)).await?;
        loop {
            version = self.watch(version, dice).await?;
            // Whoever ended this one may have ended everybody's.
            sleep(Duration::from_secs(1).mul_f64(dice())).await;
        }
    }

    /// One watch, to its end; where the next one begins.
    async fn watch(&mut self, mut version: String, dice: &mut Dice) -> Result<String, Ended> {
        let seconds = WATCH + (dice() * 50.0) as u32;
        let params = WatchParams::default().fields(&self.only).timeout(seconds);
        let events = answer(self.api.watch(&params, &version)).await?;
        let mut events = std::pin::pin!(events);
        self.followed_since.get_or_insert_with(Instant::now);
        self.say(News::Following).await?;
        while let Some(event) = events.try_next().await.map_err(WriteError::from)? {
            let news = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    version = resource_version(&object).unwrap_or(version);
                    News::Changed(object.into())
                }
                WatchEvent::Deleted(object) => {
                    version = resource_version(&object).unwrap_or(version);
                    News::Deleted(Report::from(object).version)
                }
                WatchEvent::Bookmark(mark) => {
                    version = mark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => {
                    return Err(WriteError::from(kube::Error::Api(status)).into());
                }
            };
            self.say(news).await?;
        }
        Ok(version)
    }

    async fn say(&self, news: News) -> Result<(), Ended> {
        self.tell.send(news).await.map_err(|_| Ended::Deaf)
    }
}

fn resource_version(object: &SchedExtNode) -> Option<String> {
    object.metadata.resource_version.clone()
}

async fn answer<T>(asked: impl Future<Output = Result<T, kube::Error>>) -> Result<T, WriteError> {
    match timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(WriteError::from),
        Err(_) => Err(WriteError::Slow),
    }
}
