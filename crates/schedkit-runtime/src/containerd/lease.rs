//! Leases: what is made under one is not collected as garbage while it lasts. Called by `pull`
//! and `create`.
//!
//! A lease ends by itself: what a client leaves behind that was killed goes with it.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::api::leases::{CreateRequest, DeleteRequest};
use super::fault::{Absence, Fault};
use super::random;
use super::session::Session;
use crate::driver::DriverError;

/// Until when containerd honours it.
const EXPIRES: &str = "containerd.io/gc.expire";
/// For containerd to look through all it has and delete what nobody needs.
const COLLECTION: Duration = Duration::from_secs(120);

/// A lease that lasts.
#[derive(Debug)]
pub(super) struct Lease {
    id: String,
}

impl Lease {
    /// Takes a lease, and gives a session under it.
    pub(super) async fn take(
        session: &Session,
        lasts: SignedDuration,
    ) -> Result<(Self, Session), DriverError> {
        let id = format!("schedkit-{}", random::letters());
        let expires = Timestamp::now().saturating_add(lasts);
        let expires = expires.unwrap_or(Timestamp::MAX);
        let expires = format!("{expires:.0}");
        let request = CreateRequest {
            id: id.clone(),
            labels: HashMap::from([(EXPIRES.to_owned(), expires)]),
        };
        let mut leases = session.leases();
        session.ask(leases.create(request)).await?;
        let under = session.under(&id);
        Ok((Self { id }, under))
    }

    /// Ends it after all was done.
    pub(super) async fn release(self, session: &Session) -> Result<(), DriverError> {
        self.delete(session, false).await.if_there().map(drop)
    }

    /// Ends it after something failed, and waits until what was half made is gone. That this may
    /// fail too is not told: the first error is the one to know, and the lease ends by itself.
    pub(super) async fn discard(self, session: &Session) {
        let _ = self.delete(session, true).await;
    }

    async fn delete(self, session: &Session, sync: bool) -> Result<(), Fault> {
        let request = DeleteRequest { id: self.id, sync };
        let mut leases = session.leases();
        session.ask_for(COLLECTION, leases.delete(request)).await
    }
}
