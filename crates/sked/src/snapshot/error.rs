//! Why a cluster, or a part of it, could not be read.

use std::fmt;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(
        "the CRD schedexts.sked.schedkit.io is not installed in this cluster: install sked, or choose \
         another cluster with --context"
    )]
    NotInstalled,
    #[error("cannot list {resource}")]
    List {
        resource: &'static str,
        #[source]
        source: Box<kube::Error>,
    },
}

/// A list that the API server refused because the person has no right to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// As in a role: `pods`.
    pub resource: &'static str,
    /// `None` for all namespaces, and for what is in no namespace.
    pub namespace: Option<String>,
    /// What the resource is needed for.
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Who owns which node.
    Ownership,
    /// What the kernels run.
    Kernels,
    /// Why pods could not be created.
    Events,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = self.resource;
        let place = match &self.namespace {
            Some(namespace) => format!("in the namespace {namespace}"),
            None => "in the whole cluster".to_owned(),
        };
        let effect = match self.purpose {
            Purpose::Ownership => "who owns which node",
            Purpose::Kernels => "what kernels run",
            Purpose::Events => "why pods could not be created",
        };
        write!(
            f,
            "you have no right to list {resource} {place}, so {effect} is not known"
        )
    }
}
