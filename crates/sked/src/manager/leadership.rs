//! The right to write. Every writer of the manager goes through [`Leadership::write`];
//! [`crate::manager::leader`] extends and ends the right.
//!
//! The right expires at a time of the boot clock. A manager that was paused past that time cannot
//! start a write when it resumes: a pending write checks the right each time it is polled, also
//! while it waits for a connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::manager::boot_clock::BootInstant;
use crate::manager::write_error::WriteError;

/// For one write.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The right to write, shared by all writers.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    /// In milliseconds after boot.
    until: Arc<AtomicU64>,
}

impl Leadership {
    /// Without leader election: the right never expires.
    pub(crate) fn unlimited() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// No right until [`Leadership::extend`].
    pub(crate) fn none() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(0)),
        }
    }

    pub(crate) fn extend(&self, until: BootInstant) {
        let until = u64::try_from(until.since_boot().as_millis()).unwrap_or(u64::MAX);
        self.until.store(until, Ordering::Release);
    }

    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Whether the right is valid now.
    pub(crate) fn is_valid(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until == u64::MAX || BootInstant::now().since_boot().as_millis() < u128::from(until)
    }

    /// Runs a write while the right is valid, and gives up after a timeout.
    pub(crate) async fn write<T>(
        &self,
        write: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        let mut write = pin!(tokio::time::timeout(TIMEOUT, write));
        poll_fn(|context| {
            if !self.is_valid() {
                return Poll::Ready(Err(WriteError::NotLeader));
            }
            write.as_mut().poll(context).map(|response| match response {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(WriteError::Timeout(TIMEOUT)),
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pending_write_does_not_start_after_the_deadline() {
        let leadership = Leadership::none();
        leadership.extend(BootInstant::now().plus(Duration::from_secs(60)));
        let (connected, connection) = tokio::sync::oneshot::channel::<()>();
        let mut started = false;
        let write = leadership.write(async {
            let _ = connection.await;
            started = true;
            Ok(())
        });
        let meanwhile = async {
            leadership.end();
            let _ = connected.send(());
        };
        let (written, ()) = tokio::join!(write, meanwhile);
        assert!(matches!(written, Err(WriteError::NotLeader)), "{written:?}");
        assert!(!started);
    }

    #[tokio::test]
    async fn without_election_every_write_runs() {
        let written = Leadership::unlimited().write(async { Ok(1) }).await;
        assert_eq!(written.unwrap(), 1);
    }
}
