//! Reconciles one SchedExt: observe → plan → check → apply → write status.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sked_plan::assignment::Assignments;
use sked_plan::check::{Violation, check_plan};
use sked_plan::plan::{Outcome, plan};
use sked_plan::status::status;
use sked_plan::verification::Verification;
use sked_plan::{ObjectKey, Observed};
use tokio::sync::watch;
use tracing::Instrument;

use crate::error_chain::chain;
use crate::manager::apply::{Applier, ApplyError};
use crate::manager::images::KnownImages;
use crate::manager::metric_counts;
use crate::manager::metrics::{Metrics, ReconcileResult};
use crate::manager::observe::{Observation, Sources, observe};
use crate::manager::policies::Unenforced;
use crate::manager::port_holders::PortHolders;
use crate::manager::queue::Queue;
use crate::manager::requeue::GATHER;
use crate::manager::status_writer::{StatusWriteError, StatusWriter};
use crate::manager::stores::{SchedExtEntry, Stores};
use crate::manager::verification::Verifying;
use crate::manager::worker;
use crate::manager::write_error::Retry;
use crate::stop::Stop;

pub(crate) struct Controller {
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) assignments: watch::Receiver<Arc<Assignments>>,
    pub(crate) known_images: Arc<KnownImages>,
    pub(crate) unenforced: Arc<Unenforced>,
    pub(crate) port_holders: Arc<PortHolders>,
    pub(crate) verifying: Verifying,
    pub(crate) applier: Applier,
    pub(crate) status_writer: StatusWriter,
    pub(crate) metrics: Arc<Metrics>,
}

/// When to reconcile again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When something changes.
    OnChange,
    /// After a moment, when the writes have had their effect.
    AfterWrite,
    /// After this long, at the next deadline.
    After(Duration),
}

/// Why a reconciliation failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Report(#[from] StatusWriteError),
    #[error("the plan breaks a rule and is not executed; this is a bug, please report it: {0:?}")]
    Violations(Vec<Violation>),
}

impl Error {
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Apply(error) => error.source.retry(),
            Self::Report(error) => error.source.retry(),
            Self::Violations(_) => Retry::Backoff,
        }
    }

    /// For the status.
    fn outcome(&self) -> Outcome {
        match self {
            Self::Apply(error) => Outcome {
                failure: Some(error.failure()),
                ..Outcome::default()
            },
            Self::Violations(violations) => Outcome {
                violations: violations.iter().map(ToString::to_string).collect(),
                ..Outcome::default()
            },
            Self::Report(_) => Outcome::default(),
        }
    }

    /// A short reason for logs.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Apply(error) => error.source.reason(),
            Self::Report(error) => error.source.reason(),
            Self::Violations(_) => "PlanViolation",
        }
    }
}

fn next(observed: &Observed) -> Next {
    let due = sked_plan::status::due(observed);
    let wait = due.and_then(|due| Duration::try_from(due.duration_since(observed.now)).ok());
    wait.map_or(Next::OnChange, Next::After)
}

/// Whether nothing is known of a SchedExt's images and nothing was said of it: the verifier queues it in
/// a moment, and a status until then would be a write in vain.
fn is_first_look(observed: &Observed) -> bool {
    let Verification::On(known) = &observed.verification else {
        return false;
    };
    let looks = known.verdicts.is_empty() && known.policy.trouble().is_none();
    looks && observed.stored().status.is_none()
}

impl Controller {
    /// Reconciles several SchedExts concurrently until a stop is requested.
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
        let outcome = match &result {
            Ok(Next::OnChange) => ReconcileResult::success,
            Ok(Next::AfterWrite | Next::After(_)) => ReconcileResult::requeue_after,
            Err(_) => ReconcileResult::error,
        };
        self.metrics.reconciled(outcome, begin.elapsed());
        match result {
            Ok(next) => {
                self.queue.succeeded(key);
                match next {
                    Next::OnChange => {}
                    Next::AfterWrite => self.queue.after(key, GATHER),
                    Next::After(delay) => self.queue.after(key, delay),
                }
            }
            Err(error) => self.failed(key, &error),
        }
        self.queue.done(key);
    }

    async fn reconcile(&self, key: &ObjectKey) -> Result<Next, Error> {
        self.want_verdicts(key);
        let observed = match self.observe(key) {
            Observation::Gone | Observation::Unclaimed => return Ok(Next::OnChange),
            Observation::Unreadable(unreadable) => {
                self.status_writer.write_unreadable(&unreadable).await?;
                return Ok(Next::OnChange);
            }
            Observation::Complete(observed) => observed,
        };
        if is_first_look(&observed) {
            return Ok(Next::OnChange);
        }
        let plan = plan(&observed);
        let violations = check_plan(&observed, &plan);
        let failed = match violations.is_empty() {
            true => match self.applier.apply(&plan.steps).await {
                Ok(0) => None,
                // The effect of the writes shows in a moment: waiting for it makes one status write
                // of two.
                Ok(_) => return Ok(Next::AfterWrite),
                Err(error) if error.source.retry() == Retry::Backoff => Some(Error::Apply(error)),
                Err(error) => return Err(error.into()),
            },
            false => Some(Error::Violations(violations)),
        };
        let outcome = failed.as_ref().map(Error::outcome).unwrap_or_default();
        let status = status(&observed, &plan, &outcome);
        self.status_writer
            .write_status(observed.stored(), &status)
            .await?;
        let before = observed.stored().status.as_ref();
        self.metrics
            .happened(key, metric_counts::happened(before, &status));
        match failed {
            Some(error) => Err(error),
            None => Ok(next(&observed)),
        }
    }

    /// Asks for what an observation will need of its images.
    fn want_verdicts(&self, key: &ObjectKey) {
        let seen = self.stores.schedexts.get(key);
        let asked = seen.as_deref().and_then(SchedExtEntry::schedext);
        if let Some(asked) = asked.filter(|one| one.metadata.deletion_timestamp.is_none()) {
            self.verifying.want(asked);
        }
    }

    fn observe(&self, key: &ObjectKey) -> Observation {
        let assignments = Arc::clone(&self.assignments.borrow());
        let sources = Sources {
            stores: &self.stores,
            assignments: &assignments,
            known_images: &self.known_images,
            unenforced: &self.unenforced,
            port_holders: &self.port_holders,
            futile: self.applier.futile(),
            verifying: &self.verifying,
        };
        observe(&sources, key)
    }

    fn failed(&self, key: &ObjectKey, error: &Error) {
        let reason = error.reason();
        match error.retry() {
            Retry::Never => tracing::info!(reason, "{}", chain(error)),
            Retry::Outdated => {
                let again_in = self.queue.failed(key);
                tracing::debug!(reason, ?again_in, "{}", chain(error));
            }
            Retry::Backoff => {
                let again_in = self.queue.failed(key);
                tracing::warn!(reason, ?again_in, "{}", chain(error));
            }
        }
    }
}
