//! Leases keep new objects from being garbage-collected until something references them. Used by
//! `pull` and `create`.
//!
//! A lease expires, so that the objects of a killed client are collected.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::api::leases::{CreateRequest, DeleteRequest};
use super::call_error::{CallError, CallResult};
use super::random;
use super::session::Session;
use crate::driver::DriverError;

/// The label with the time when the lease expires.
const EXPIRES: &str = "containerd.io/gc.expire";
/// For a garbage collection.
const COLLECTION: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Lease {
    id: String,
}

impl Lease {
    /// Creates a lease and a session that uses it.
    pub(super) async fn take(
        session: &Session,
        duration: SignedDuration,
    ) -> Result<(Self, Session), DriverError> {
        let id = format!("schedkit-{}", random::hex_suffix());
        let expires = Timestamp::now().saturating_add(duration);
        let expires = expires.unwrap_or(Timestamp::MAX);
        let expires = format!("{expires:.0}");
        let request = CreateRequest {
            id: id.clone(),
            labels: HashMap::from([(EXPIRES.to_owned(), expires)]),
        };
        let mut leases = session.leases();
        session.call(leases.create(request)).await?;
        let leased = session.with_lease(&id);
        Ok((Self { id }, leased))
    }

    /// Deletes the lease after success.
    pub(super) async fn release(self, session: &Session) -> Result<(), DriverError> {
        self.delete(session, false).await.if_found().map(drop)
    }

    /// Deletes the lease after a failure and waits for the garbage collection. Its own failure is
    /// ignored: the first error counts, and the lease expires.
    pub(super) async fn discard(self, session: &Session) {
        let _ = self.delete(session, true).await;
    }

    async fn delete(self, session: &Session, sync: bool) -> Result<(), CallError> {
        let request = DeleteRequest { id: self.id, sync };
        let mut leases = session.leases();
        session
            .call_within(COLLECTION, leases.delete(request))
            .await
    }
}
