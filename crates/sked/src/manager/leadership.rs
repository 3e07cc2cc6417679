//! The right to write. Every writer of this program asks here first; who has it is decided in
//! [`crate::leader`].
//!
//! The right ends by itself at a moment of the machine's own clock. A manager that was stopped
//! past that moment and goes on later finds it over before it can begin a write: a write is looked
//! at again each time that it is woken, also while it still waits for a connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::clock::Moment;

/// How long the API server may take over one write.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to write, shared by all who write.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    /// In milliseconds after boot.
    until: Arc<AtomicU64>,
}

/// Why something was not written, or not known to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// Another manager may be the leader by now.
    #[error("not written: this manager is not the leader any more")]
    NotLeader,
    /// No answer in time.
    #[error("the API server did not answer within {} s", PATIENCE.as_secs())]
    Slow,
    /// The manager's role does not have the right; what the API server says names verb and
    /// resource.
    #[error("the manager's role lacks a right: {GRANT}")]
    NotGranted(#[source] Box<kube::Error>),
    /// The API server refused, or could not be asked.
    #[error("the API server did not take it")]
    Api(#[source] Box<kube::Error>),
}

/// What to do about a right that is missing.
pub(crate) const GRANT: &str =
    "apply config/rbac, or the chart, of the same version as the manager";

impl Leadership {
    /// Nobody else is there: the right never ends.
    pub(crate) fn unlimited() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// Not yet.
    pub(crate) fn none() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The right lasts until then.
    pub(crate) fn extend(&self, until: Moment) {
        let until = u64::try_from(until.since_boot().as_millis()).unwrap_or(u64::MAX);
        self.until.store(until, Ordering::Release);
    }

    /// The right is given back.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Whether it holds at this moment.
    pub(crate) fn holds(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until == u64::MAX || Moment::now().since_boot().as_millis() < u128::from(until)
    }

    /// Writes, as long as the right holds.
    pub(crate) async fn write<T>(
        &self,
        write: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        let mut write = pin!(tokio::time::timeout(PATIENCE, write));
        poll_fn(|context| {
            if !self.holds() {
                return Poll::Ready(Err(WriteError::NotLeader));
            }
            write.as_mut().poll(context).map(|answer| match answer {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(WriteError::Slow),
            })
        })
        .await
    }
}

impl From<kube::Error> for WriteError {
    /// The API server forbids for many reasons: a quota, a policy, a namespace that is going. Its
    /// authorizer has a sentence of its own.
    fn from(error: kube::Error) -> Self {
        let not_granted = |status: &kube::core::Status| {
            status.code == 403
                && status.message.contains(" cannot ")
                && status.message.contains(" resource ")
        };
        match &error {
            kube::Error::Api(status) if not_granted(status) => Self::NotGranted(Box::new(error)),
            _ => Self::Api(Box::new(error)),
        }
    }
}

impl WriteError {
    /// The HTTP status of the answer, if there was one.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Api(error) | Self::NotGranted(error) => match error.as_ref() {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::NotLeader | Self::Slow => None,
        }
    }

    /// The API server's own word for it, when it gave one.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Api(error) | Self::NotGranted(error) => match error.as_ref() {
                kube::Error::Api(status) => status.reason.clone(),
                _ => String::new(),
            },
            Self::NotLeader | Self::Slow => String::new(),
        }
    }

    /// What the API server said, or what stood between it and us.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Api(error) | Self::NotGranted(error) => match error.as_ref() {
                kube::Error::Api(status) => status.message.clone(),
                other => crate::retry::chain(other),
            },
            Self::NotLeader | Self::Slow => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_that_waits_is_never_begun_after_the_deadline() {
        let leadership = Leadership::none();
        leadership.extend(Moment::now().plus(Duration::from_secs(60)));
        let (connected, connection) = tokio::sync::oneshot::channel::<()>();
        let mut begun = false;
        let write = leadership.write(async {
            let _ = connection.await;
            begun = true;
            Ok(())
        });
        let meanwhile = async {
            leadership.end();
            let _ = connected.send(());
        };
        let (written, ()) = tokio::join!(write, meanwhile);
        assert!(matches!(written, Err(WriteError::NotLeader)), "{written:?}");
        assert!(!begun);
    }

    #[tokio::test]
    async fn without_election_everything_is_written() {
        let written = Leadership::unlimited().write(async { Ok(1) }).await;
        assert_eq!(written.unwrap(), 1);
    }
}
