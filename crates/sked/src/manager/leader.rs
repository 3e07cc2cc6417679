//! Leader election: of several managers the one whose name is in the Lease works.
//!
//! ```text
//!            the lease is free, or its holder did not renew it for a lease duration
//!   waiting ───────────────────────────────────────────────────────▶ leading ──stop requested──▶ released
//!      ▲  │ reads the lease every 2 s                                   │ renews every 2 s
//!      └──┘                                                             └─10 s without success──▶ lost: the process exits
//! ```
//!
//! The rules are those of client-go, so that managers of both kinds can share a lease; they are in
//! [`election`]. This file executes them and writes nothing but the Lease.

mod election;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::manager::boot_clock::BootInstant;
use crate::manager::leadership::Leadership;
use crate::manager::metrics::Metrics;
use crate::stop::Stop;

use election::{Election, LEASE, LeaseAction};

/// Another manager takes over a lease that was not renewed for this long.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for this long stops writing and exits.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often the lease is read or renewed.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaderError {
    /// The lease could not be renewed in time, or another manager has it.
    #[error(
        "the lease {LEASE} was lost: another manager is the leader, or the API server cannot be reached; this manager exits and is restarted"
    )]
    Lost,
    #[error("cannot create an identity for this manager")]
    Identity(#[source] std::io::Error),
}

/// This manager's part in the leader election.
pub(crate) struct LeaderElection {
    leases: Api<Lease>,
    election: Election,
    leadership: Leadership,
    metrics: Arc<Metrics>,
    /// The last message, so that it is not logged every two seconds.
    logged: Option<String>,
}

impl LeaderElection {
    /// For the lease in this namespace.
    pub(crate) fn new(
        client: Client,
        namespace: &str,
        leadership: Leadership,
        metrics: Arc<Metrics>,
    ) -> Result<Self, LeaderError> {
        let identity = identity().map_err(LeaderError::Identity)?;
        tracing::info!(
            identity,
            namespace,
            lease = LEASE,
            "joining the leader election"
        );
        metrics.leader(LEASE, false);
        Ok(Self {
            leases: Api::namespaced(client, namespace),
            election: Election::new(identity, LEASE_DURATION),
            leadership,
            metrics,
            logged: None,
        })
    }

    /// Waits until this manager is the leader; `false` if a stop was requested first.
    pub(crate) async fn wait(&mut self, stop: &mut Stop) -> bool {
        loop {
            let begun = BootInstant::now();
            if self.attempt().await {
                self.lead_from(begun);
                tracing::info!("this manager is the leader");
                return true;
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_PERIOD) => {}
                () = stop.requested() => return false,
            }
        }
    }

    /// Renews the lease until a stop is requested; it is kept until [`LeaderElection::release`].
    pub(crate) async fn keep(&mut self, stop: &mut Stop) -> Result<(), LeaderError> {
        loop {
            tokio::select! {
                () = tokio::time::sleep(RETRY_PERIOD) => {}
                () = stop.requested() => return Ok(()),
            }
            // The deadline counts from before the request: however late the response, no other
            // manager can have seen a later renewal than this.
            let begun = BootInstant::now();
            if !self.leadership.is_valid() {
                return Err(self.lost());
            }
            if self.attempt().await {
                self.lead_from(begun);
            } else if !self.leadership.is_valid() || self.election.holder().is_some() {
                return Err(self.lost());
            }
        }
    }

    /// Releases the lease, so that the next manager need not wait until it expires.
    pub(crate) async fn release(&mut self) {
        let held = self.leadership.is_valid();
        self.leadership.end();
        self.metrics.leader(LEASE, false);
        if let (true, Some(lease)) = (held, self.election.release(jiff::Timestamp::now())) {
            match self.put(&lease).await {
                Ok(_) => tracing::info!("released the lease"),
                Err(error) => tracing::warn!(
                    "cannot release the lease, so the next manager waits until it expires: {}",
                    crate::error_chain::chain(&error)
                ),
            }
        }
    }

    fn lead_from(&self, begun: BootInstant) {
        self.leadership.extend(begun.plus(RENEW_DEADLINE));
        self.metrics.leader(LEASE, true);
    }

    fn lost(&self) -> LeaderError {
        self.leadership.end();
        self.metrics.leader(LEASE, false);
        LeaderError::Lost
    }

    /// Reads the lease if necessary and writes it if the rules say so. Returns whether this manager
    /// holds it now.
    async fn attempt(&mut self) -> bool {
        match tokio::time::timeout(RENEW_DEADLINE / 2, self.try_once()).await {
            Ok(Ok(ours)) => ours,
            Ok(Err(error)) => {
                self.log_once(format!(
                    "cannot read or write the lease: {}",
                    crate::error_chain::chain(&error)
                ));
                false
            }
            Err(_) => {
                self.election.forget_version();
                self.log_once(
                    "the API server does not respond to requests for the lease".to_owned(),
                );
                false
            }
        }
    }

    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        // A leader that knows the lease's version writes without reading it first; after a rejected
        // write it reads it again.
        let mut next = self.election.renew(jiff::Timestamp::now());
        if next.is_none() {
            let lease = self.leases.get_opt(LEASE).await?;
            next = Some(
                self.election
                    .decide(lease, BootInstant::now(), jiff::Timestamp::now()),
            );
        }
        let written = match next {
            Some(LeaseAction::Create(lease)) => {
                self.leases.create(&PostParams::default(), &lease).await
            }
            Some(LeaseAction::Update(lease)) => self.put(&lease).await,
            Some(LeaseAction::Wait) | None => {
                if let Some(holder) = self.election.holder() {
                    self.log_once(format!("waiting: {holder} is the leader; if no such manager runs any more (another installation, a crash), its lease expires by itself"));
                }
                return Ok(false);
            }
        };
        match written {
            Ok(lease) => {
                self.election.wrote(lease);
                self.logged = None;
                Ok(true)
            }
            Err(error) => {
                self.election.forget_version();
                Err(error)
            }
        }
    }

    async fn put(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.leases
            .replace(LEASE, &PostParams::default(), lease)
            .await
    }

    fn log_once(&mut self, message: String) {
        if self.logged.as_ref() != Some(&message) {
            tracing::info!("{message}");
            self.logged = Some(message);
        }
    }
}

/// Unique, also among earlier processes of the same pod.
fn identity() -> std::io::Result<String> {
    let host = rustix::system::uname();
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(format!(
        "{}_{}",
        host.nodename().to_string_lossy(),
        random.trim()
    ))
}
