//! The cluster of a request, reached with the rights of whoever asks.

use kube::Client;
use sked::snapshot::{Purpose, Scope, Snapshot, connect};

use crate::error::Error;
use crate::request::{Namespace, Target};

pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// That of the request, or of the context.
    pub(crate) namespace: String,
    /// The namespace that was asked for; `None` for all.
    pub(crate) asked: Option<String>,
    scope: Scope,
}

impl Cluster {
    pub(crate) async fn open(target: &Target) -> Result<Self, Error> {
        let (client, of_context) = connect(&target.access).await?;
        let namespace = match &target.namespace {
            Namespace::Named(name) => name.clone(),
            Namespace::OfContext | Namespace::All => of_context,
        };
        Ok(Self {
            client,
            asked: (target.namespace != Namespace::All).then(|| namespace.clone()),
            scope: Scope {
                namespaces: target.watch_namespaces.clone(),
                agent_namespace: target.agent_namespace.clone(),
                own_namespace: namespace.clone(),
            },
            namespace,
        })
    }

    pub(crate) fn agent_namespace(&self) -> &str {
        &self.scope.agent_namespace
    }

    /// As far as it may be read.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(Snapshot::read(&self.client, &self.scope).await?)
    }

    /// With everything by which nodes get their owners. Whoever sees only a part of it would be told
    /// something else than the manager does.
    pub(crate) async fn whole_snapshot(&self) -> Result<Snapshot, Error> {
        let snapshot = self.snapshot().await?;
        let mut unread = snapshot.unread().iter();
        match unread.find(|one| one.purpose == Purpose::Ownership) {
            Some(unread) => Err(Error::Unread(unread.clone())),
            None => Ok(snapshot),
        }
    }
}

/// What a snapshot lacks, for a note.
pub(crate) fn notes(snapshot: &Snapshot) -> Vec<String> {
    snapshot.unread().iter().map(ToString::to_string).collect()
}
