//! Which of several managers works: the one whose name is in the Lease.
//!
//! ```text
//!            the lease is free, or its holder was silent for a lease
//!   waiting ───────────────────────────────────────────────────────▶ leading ──asked to stop──▶ released
//!      ▲  │ looks every 2 s                                             │ renews every 2 s
//!      └──┘                                                             └─10 s without success──▶ lost: the process ends
//! ```
//!
//! The rules are those of client-go, so that managers of both kinds can meet: see
//! [`election`]. This file does what they say. It never writes anything but the Lease.

mod election;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::clock::Moment;
use crate::leadership::Leadership;
use crate::metrics::Metrics;
use crate::stop::Stop;

use election::{Election, Move};

/// The name of the Lease.
pub(crate) const LEASE: &str = "b4c95cb3.schedkit.io";

/// A silent leader is succeeded after this long.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for this long stops writing and ends.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often the lease is looked at or renewed.
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// Why a manager does not lead any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaderError {
    /// The lease could not be renewed in time, or somebody else has it.
    #[error(
        "the lease {LEASE} was lost: another manager leads, or the API server cannot be reached; this one ends and is started again"
    )]
    Lost,
    /// This machine has no name or no source of randomness.
    #[error("cannot make up a name for this manager")]
    Identity(#[source] std::io::Error),
}

/// Takes part in the election.
pub(crate) struct Candidate {
    leases: Api<Lease>,
    election: Election,
    leadership: Leadership,
    metrics: Arc<Metrics>,
    told: Option<String>,
}

impl Candidate {
    /// A candidate for the lease in this namespace.
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
            "taking part in the election"
        );
        metrics.leader(false);
        Ok(Self {
            leases: Api::namespaced(client, namespace),
            election: Election::new(identity, LEASE_DURATION),
            leadership,
            metrics,
            told: None,
        })
    }

    /// Waits until this manager leads; `false` when it was asked to stop before.
    pub(crate) async fn wait(&mut self, stop: &mut Stop) -> bool {
        loop {
            let begun = Moment::now();
            if self.attempt().await {
                self.lead_from(begun);
                tracing::info!("leading");
                return true;
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_PERIOD) => {}
                () = stop.asked() => return false,
            }
        }
    }

    /// Renews until asked to stop; the lease is kept until [`Candidate::release`].
    pub(crate) async fn keep(&mut self, stop: &mut Stop) -> Result<(), LeaderError> {
        loop {
            tokio::select! {
                () = tokio::time::sleep(RETRY_PERIOD) => {}
                () = stop.asked() => return Ok(()),
            }
            // Counted from before the question: however late the answer, nobody else may have
            // seen an older renewal.
            let begun = Moment::now();
            if !self.leadership.holds() {
                return Err(self.lost());
            }
            if self.attempt().await {
                self.lead_from(begun);
            } else if !self.leadership.holds() || self.election.holder().is_some() {
                return Err(self.lost());
            }
        }
    }

    /// Gives the lease back, so that the next manager need not wait for its end.
    pub(crate) async fn release(&mut self) {
        let held = self.leadership.holds();
        self.leadership.end();
        self.metrics.leader(false);
        if let (true, Some(lease)) = (held, self.election.release(jiff::Timestamp::now())) {
            match self.put(&lease).await {
                Ok(_) => tracing::info!("the lease is released"),
                Err(error) => tracing::warn!(
                    "cannot release the lease, the next manager waits for its end: {}",
                    crate::retry::chain(&error)
                ),
            }
        }
    }

    fn lead_from(&self, begun: Moment) {
        self.leadership.extend(begun.plus(RENEW_DEADLINE));
        self.metrics.leader(true);
    }

    fn lost(&self) -> LeaderError {
        self.leadership.end();
        self.metrics.leader(false);
        LeaderError::Lost
    }

    /// One look at the lease and one write if the rules ask for it; whether the lease is ours now.
    async fn attempt(&mut self) -> bool {
        match tokio::time::timeout(RENEW_DEADLINE / 2, self.try_once()).await {
            Ok(Ok(ours)) => ours,
            Ok(Err(error)) => {
                self.tell(format!(
                    "cannot read or write the lease: {}",
                    crate::retry::chain(&error)
                ));
                false
            }
            Err(_) => {
                self.election.forget_version();
                self.tell("the API server does not answer about the lease".to_owned());
                false
            }
        }
    }

    async fn try_once(&mut self) -> Result<bool, kube::Error> {
        // A leader that knows the lease's version writes without a look; a refusal makes it look.
        let mut next = self.election.renew(jiff::Timestamp::now());
        if next.is_none() {
            let lease = self.leases.get_opt(LEASE).await?;
            next = Some(
                self.election
                    .decide(lease, Moment::now(), jiff::Timestamp::now()),
            );
        }
        let written = match next {
            Some(Move::Create(lease)) => self.leases.create(&PostParams::default(), &lease).await,
            Some(Move::Update(lease)) => self.put(&lease).await,
            Some(Move::Wait) | None => {
                if let Some(holder) = self.election.holder() {
                    self.tell(format!("waiting: {holder} leads; when no such manager runs (another installation, a crash), its lease ends by itself"));
                }
                return Ok(false);
            }
        };
        match written {
            Ok(lease) => {
                self.election.wrote(lease);
                self.told = None;
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

    /// Says something once, not every two seconds.
    fn tell(&mut self, sentence: String) {
        if self.told.as_ref() != Some(&sentence) {
            tracing::info!("{sentence}");
            self.told = Some(sentence);
        }
    }
}

/// A name that no other manager has, also not the one that ran in this pod before.
fn identity() -> std::io::Result<String> {
    let host = rustix::system::uname();
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(format!(
        "{}_{}",
        host.nodename().to_string_lossy(),
        random.trim()
    ))
}
