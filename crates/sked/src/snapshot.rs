//! A cluster, read once by lists, and seen as the manager sees it: the same stores, read by the same
//! functions. `kubectl sx` explains and plans with it, with the rights of the person who asks.
//!
//! ```text
//! lists ─read▶ stores ─observe, fleet▶ Fleet ─claim▶ Claims
//!                ▲                        └────────▶ Observed ─plan, status▶ …
//!                └── simulate: the writes that sked would do, into this copy only
//! ```
//!
//! It writes nothing. Eligibility is taken as it is: a manager waits a few seconds before it acts on
//! a change.

mod error;
mod read;
pub mod simulate;

use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use sked_api::SchedExt;
use sked_plan::assignment::Assignments;
use sked_plan::claim::Claims;
use sked_plan::kernel_state::KernelState;
use sked_plan::{Fleet, LiveDaemonSet, LivePod, NodeName, NodeReport, ObjectKey, Observed, Uid};

use crate::client;
use crate::manager::claims::{checked_claims, eligibility_seen};
use crate::manager::futile_replaces::FutileReplaces;
use crate::manager::images::KnownImages;
use crate::manager::observe::{Observation, Sources, fleet, kernel_of, observe};
use crate::manager::policies::Unenforced;
use crate::manager::port_holders::PortHolders;
use crate::manager::stores::{SchedExtEntry, Stored, Stores, node_key};
use crate::manager::verification::Verifying;

pub use crate::client::ClientError;
pub use crate::error_chain::chain;
pub use error::{Purpose, ReadError, Unread};

/// How a person reaches a cluster.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Default: that of KUBECONFIG, or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// Default: the current one.
    pub context: Option<String>,
}

/// Which part of a cluster is read.
#[derive(Clone, Debug)]
pub struct Scope {
    /// As `--watch-namespaces` of the manager; empty for all.
    pub namespaces: Vec<String>,
    /// The namespace of the node agents: pods elsewhere are not accepted as agents.
    pub agent_namespace: String,
    /// Read at least this one where all may not be read.
    pub own_namespace: String,
}

/// A cluster as it was when it was read.
pub struct Snapshot {
    stores: Stores,
    sees_all_pods: bool,
    fleet: Fleet,
    claims: Claims,
    unread: Vec<Unread>,
}

/// A client, and the namespace of the context.
///
/// # Errors
/// When the kubeconfig cannot be used.
pub async fn connect(access: &Access) -> Result<(Client, String), ClientError> {
    client::connect_context(access.kubeconfig.as_deref(), access.context.as_deref()).await
}

impl Snapshot {
    /// Reads everything that the manager watches. What may not be listed is in
    /// [`Snapshot::unread`].
    ///
    /// # Errors
    /// When the API server cannot be reached, or does not know SchedExts.
    pub async fn read(client: &Client, scope: &Scope) -> Result<Self, ReadError> {
        let (stores, unread) = read::read(client, scope).await?;
        Ok(Self::new(stores, scope.namespaces.is_empty(), unread))
    }

    fn new(stores: Stores, sees_all_pods: bool, unread: Vec<Unread>) -> Self {
        let mut snapshot = Self {
            stores,
            sees_all_pods,
            fleet: Fleet::default(),
            claims: Claims::default(),
            unread,
        };
        snapshot.claim();
        snapshot
    }

    /// Computes the claims from the stores.
    fn claim(&mut self) {
        let eligibility = eligibility_seen(&self.stores, self.sees_all_pods);
        self.fleet = fleet(&self.stores, &Verifying::AsRecorded, eligibility);
        let claims = checked_claims(&self.fleet, &Assignments::new());
        self.claims = claims.unwrap_or_default();
    }

    /// What could not be read, for lack of rights.
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// All that can be parsed, by namespace and name.
    pub fn schedexts(&self) -> Vec<Arc<SchedExt>> {
        let seen = self.stores.schedexts.all();
        let read = seen.iter().filter_map(|seen| seen.schedext().cloned());
        let mut all: Vec<_> = read.collect();
        all.sort_by_key(|one| sked_plan::part::key(one));
        all
    }

    /// Why a SchedExt cannot be parsed, for each that cannot.
    pub fn unreadable(&self) -> Vec<(ObjectKey, String)> {
        let seen = self.stores.schedexts.all();
        let unreadable = seen.iter().filter_map(|seen| match &**seen {
            SchedExtEntry::Read { .. } => None,
            SchedExtEntry::Unreadable(one) => Some((one.key.clone(), one.message.clone())),
        });
        let mut unreadable: Vec<_> = unreadable.collect();
        unreadable.sort();
        unreadable
    }

    /// What the manager would observe of a SchedExt. `None` if it does not exist, is being deleted or
    /// cannot be parsed.
    pub fn observe(&self, key: &ObjectKey) -> Option<Box<Observed>> {
        let sources = Sources {
            stores: &self.stores,
            assignments: &self.claims.assignments,
            known_images: &KnownImages::default(),
            unenforced: &Unenforced::default(),
            port_holders: &PortHolders::default(),
            futile: &FutileReplaces::default(),
            verifying: &Verifying::AsRecorded,
        };
        match observe(&sources, key) {
            Observation::Complete(observed) => Some(observed),
            Observation::Gone | Observation::Unclaimed | Observation::Unreadable(_) => None,
        }
    }

    /// The state of a node's kernel, as far as its report can be trusted.
    pub fn kernel(&self, node: &NodeName) -> KernelState {
        kernel_of(&self.stores, node)
    }

    /// What the node's agent reported, whether it can be trusted or not.
    pub fn report(&self, node: &NodeName) -> Option<NodeReport> {
        let seen = self.stores.reports.get(&node_key(node))?;
        Some(seen.report.clone())
    }

    /// The schedulers' pods on a node, by name.
    pub fn pods_on(&self, node: &NodeName) -> Vec<Arc<LivePod>> {
        self.stores.pods.on(node)
    }

    /// The DaemonSet of a pod.
    pub fn daemonset(&self, uid: &Uid) -> Option<Arc<LiveDaemonSet>> {
        let found = self.stores.daemonsets.group(uid);
        found.into_iter().find(|live| live.uid == *uid)
    }

    /// A DaemonSet by its name.
    pub fn daemonset_named(&self, key: &ObjectKey) -> Option<Arc<LiveDaemonSet>> {
        self.stores.daemonsets.get(key)
    }

    /// The SchedExt of this name, whether it can be parsed or not.
    pub fn knows(&self, key: &ObjectKey) -> bool {
        let all = self.stores.schedexts.all();
        all.iter().any(|seen| seen.key() == *key)
    }
}

#[cfg(test)]
mod tests;
