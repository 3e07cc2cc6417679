//! One SchedExt after the other: observe → plan → check → apply → report.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sked_plan::check::{Violation, check_plan};
use sked_plan::plan::{Outcome, plan, status};
use sked_plan::{ObjectKey, Observed};
use tokio::sync::watch;
use tracing::Instrument;

use crate::apply::{Applier, ApplyError};
use crate::claims::Shares;
use crate::count;
use crate::images::Floors;
use crate::metrics::{Ended, Metrics};
use crate::observe::{Sight, observe};
use crate::queue::Queue;
use crate::report::{ReportError, Reporter};
use crate::retry::{Retry, chain};
use crate::stop::Stop;
use crate::stores::Stores;
use crate::wake::GATHER;
use crate::worker;

/// Works on SchedExts.
pub(crate) struct Controller {
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) shares: watch::Receiver<Arc<Shares>>,
    pub(crate) floors: Arc<Floors>,
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
    /// After this long, when something that should have happened has not.
    At(Duration),
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

/// When to look again by ourselves.
fn next(observed: &Observed) -> Next {
    let due = sked_plan::status::due(observed);
    let wait = due.and_then(|due| Duration::try_from(due.duration_since(observed.now)).ok());
    wait.map_or(Next::Rest, Next::At)
}

impl Controller {
    /// Works, on several at a time, until asked to stop.
    pub(crate) async fn run(self: Arc<Self>, concurrency: NonZeroUsize, stop: Stop) {
        let queue = Arc::clone(&self.queue);
        let work = move |key: ObjectKey| {
            let this = Arc::clone(&self);
            let span = tracing::info_span!("reconcile", schedext = %key);
            async move { this.work(&key).await }.instrument(span)
        };
        worker::run(&queue, concurrency, stop, work).await;
    }

    async fn work(&self, key: &ObjectKey) {
        let begin = Instant::now();
        let result = self.reconcile(key).await;
        let ended = match &result {
            Ok(Next::Rest) => Ended::success,
            Ok(Next::Look | Next::At(_)) => Ended::requeue_after,
            Err(_) => Ended::error,
        };
        self.metrics.reconciled(ended, begin.elapsed());
        match result {
            Ok(next) => {
                self.queue.succeeded(key);
                match next {
                    Next::Rest => {}
                    Next::Look => self.queue.after(key, GATHER),
                    Next::At(delay) => self.queue.after(key, delay),
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
        let before = observed.schedext.status.as_ref();
        self.metrics
            .ejected(key, count::newly_ejected(before, &status));
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(next(&observed)),
        }
    }

    fn observe(&self, key: &ObjectKey) -> Sight {
        let shares = Arc::clone(&self.shares.borrow());
        observe(&self.stores, &shares, &self.floors, key)
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
