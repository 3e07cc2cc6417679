//! One SchedExt after the other: observe → plan → check → apply → report.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use sked_plan::ObjectKey;
use sked_plan::check::{Violation, check_plan};
use sked_plan::plan::{Outcome, plan, status};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::apply::{Applier, ApplyError};
use crate::claims::Shares;
use crate::metrics::{Ended, Metrics};
use crate::observe::{Sight, observe};
use crate::queue::Queue;
use crate::report::{ReportError, Reporter};
use crate::retry::{Retry, chain};
use crate::stop::Stop;
use crate::stores::Stores;
use crate::wake::GATHER;

/// Works on SchedExts.
pub(crate) struct Controller {
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) shares: watch::Receiver<Arc<Shares>>,
    pub(crate) applier: Applier,
    pub(crate) reporter: Reporter,
    pub(crate) metrics: Arc<Metrics>,
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Until something changes.
    Rest,
    /// After a moment, when what was written has had its effect.
    Look,
}

/// Why a SchedExt is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A write to a DaemonSet.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A write to the status.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The planner broke its own rules.
    #[error("the plan breaks the rules and is not carried out, please report it: {0:?}")]
    Violations(Vec<Violation>),
}

impl Error {
    /// When to try again.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Apply(error) => error.source.retry(),
            Self::Report(error) => error.source.retry(),
            Self::Violations(_) => Retry::Backoff,
        }
    }

    /// In a word.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Apply(error) => error.source.reason(),
            Self::Report(error) => error.source.reason(),
            Self::Violations(_) => "PlanViolation",
        }
    }
}

impl Controller {
    /// Works, on several at a time, until asked to stop; what is begun then is finished.
    pub(crate) async fn run(self: Arc<Self>, concurrency: NonZeroUsize, mut stop: Stop) {
        let mut tasks = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stop.asked() => break,
                Some(_) = tasks.join_next() => {}
                key = self.queue.next(), if tasks.len() < concurrency.get() => {
                    let this = Arc::clone(&self);
                    let span = tracing::info_span!("reconcile", schedext = %key);
                    tasks.spawn(async move { this.work(&key).await }.instrument(span));
                }
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn work(&self, key: &ObjectKey) {
        let begin = Instant::now();
        let result = self.reconcile(key).await;
        let ended = match &result {
            Ok(Next::Rest) => Ended::success,
            Ok(Next::Look) => Ended::requeue_after,
            Err(_) => Ended::error,
        };
        self.metrics.reconciled(ended, begin.elapsed());
        match result {
            Ok(next) => {
                self.queue.succeeded(key);
                if next == Next::Look {
                    self.queue.after(key, GATHER);
                }
            }
            Err(error) => self.failed(key, &error),
        }
        self.queue.done(key);
    }

    /// One SchedExt, once.
    async fn reconcile(&self, key: &ObjectKey) -> Result<Next, Error> {
        let observed = match self.observe(key) {
            Sight::Gone | Sight::Unclaimed => return Ok(Next::Rest),
            Sight::Unreadable(unreadable) => {
                self.reporter.unreadable(&unreadable).await?;
                return Ok(Next::Rest);
            }
            Sight::Clear(observed) => observed,
        };
        let mut plan = plan(&observed);
        let violations = check_plan(&observed, &plan);
        if !violations.is_empty() {
            return Err(Error::Violations(violations));
        }
        self.applier.forgo(&mut plan, &observed);
        let failed = match self.applier.apply(&plan.steps).await {
            Ok(0) => None,
            // What was written shows its effect in a moment: then its status is one write, not two.
            Ok(_) => return Ok(Next::Look),
            Err(error) if error.source.retry() == Retry::Backoff => Some(error),
            Err(error) => return Err(error.into()),
        };
        let outcome = Outcome {
            failure: failed.as_ref().map(ApplyError::failure),
        };
        let status = status(&observed, &plan, &outcome);
        self.reporter.report(&observed.schedext, &status).await?;
        failed.map_or(Ok(Next::Rest), |error| Err(error.into()))
    }

    fn observe(&self, key: &ObjectKey) -> Sight {
        let shares = Arc::clone(&self.shares.borrow());
        observe(&self.stores, &shares, key)
    }

    fn failed(&self, key: &ObjectKey, error: &Error) {
        let reason = error.reason();
        match error.retry() {
            Retry::Never => tracing::info!(reason, "{}", chain(error)),
            Retry::After(delay) => {
                tracing::debug!(reason, "{}", chain(error));
                self.queue.after(key, delay);
            }
            Retry::Backoff => {
                let again_in = self.queue.failed(key);
                tracing::warn!(reason, ?again_in, "{}", chain(error));
            }
        }
    }
}
