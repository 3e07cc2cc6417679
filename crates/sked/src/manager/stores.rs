//! What is known of the cluster: one store a kind, kept up to date by watches.
//!
//! ```text
//! API server ─watch▶ wire (trimmed while it is read) ─▶ store ─change▶ crate::wake
//!                                                        ▲
//!                          crate::apply, crate::report ──┘ what they wrote, at once
//! ```
//!
//! A store holds only what the planner looks at. Nobody but the watches and the two writers
//! changes it.

mod agent;
mod daemonset;
mod follow;
mod node;
mod pod;
mod refusal;
mod report;
mod schedext;
mod store;
mod wire;

use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use sked_plan::{LiveDaemonSet, LivePod, Node};

use crate::health::Health;
use crate::wake::Wake;

pub(crate) use agent::AgentSeen;
pub(crate) use node::key as node_key;
pub(crate) use refusal::RefusalSeen;
pub(crate) use report::ReportSeen;
pub(crate) use schedext::{SchedExtSeen, Unreadable};
pub(crate) use store::{Change, Kept, Store};
pub(crate) use wire::{Seen, Watched, Whole};

/// How many objects a list brings at a time: more would cost memory that nothing gives back.
const PAGE: u32 = 100;

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    pub(crate) schedexts: Store<SchedExtSeen>,
    pub(crate) daemonsets: Store<LiveDaemonSet>,
    pub(crate) pods: Store<LivePod>,
    pub(crate) refusals: Store<RefusalSeen>,
    pub(crate) nodes: Store<Node>,
    pub(crate) reports: Store<ReportSeen>,
    pub(crate) agents: Store<AgentSeen>,
}

/// What to watch and whom to tell.
pub(crate) struct Watches {
    pub(crate) client: Client,
    /// Only these; all when there are none.
    pub(crate) namespaces: Vec<String>,
    /// Where the nodes' agents are. Pods elsewhere that call themselves agents are not believed.
    pub(crate) agents: String,
    pub(crate) stores: Arc<Stores>,
    pub(crate) health: Arc<Health>,
    pub(crate) wake: Arc<Wake>,
}

impl Watches {
    /// Starts them all; they end with the process.
    ///
    /// DaemonSets are watched without a selector: one without our label may have a name that we
    /// need, and ours may lose its label. Pods and events are many, and chosen by the API server.
    pub(crate) fn start(&self) {
        let all = || Config::default().page_size(PAGE);
        let (key, value) = sked_api::label::MANAGED_BY;
        let ours = all().labels(&format!("{key}={value}"));
        let refused = all().fields("reason=FailedCreate,involvedObject.kind=DaemonSet");
        for namespace in self.scopes() {
            self.watch(
                "schedexts",
                namespace,
                all(),
                |stores| &stores.schedexts,
                Wake::schedext,
            );
            self.watch(
                "daemonsets",
                namespace,
                all(),
                |stores| &stores.daemonsets,
                Wake::daemonset,
            );
            self.watch(
                "pods",
                namespace,
                ours.clone(),
                |stores| &stores.pods,
                Wake::pod,
            );
            self.watch(
                "events",
                namespace,
                refused.clone(),
                |stores| &stores.refusals,
                Wake::refusal,
            );
        }
        let nodes = Api::all(self.client.clone());
        self.spawn(
            "nodes".to_owned(),
            nodes,
            None,
            all(),
            |stores| &stores.nodes,
            Wake::node,
        );
        let reports = Api::all(self.client.clone());
        self.spawn(
            "schedextnodes".to_owned(),
            reports,
            None,
            all(),
            |stores| &stores.reports,
            Wake::report,
        );
        let (key, value) = sked_api::label::NODE_AGENT;
        self.watch(
            "agents",
            Some(&self.agents),
            all().labels(&format!("{key}={value}")),
            |stores| &stores.agents,
            Wake::agent,
        );
    }

    fn scopes(&self) -> Vec<Option<&str>> {
        match self.namespaces.is_empty() {
            true => vec![None],
            false => self
                .namespaces
                .iter()
                .map(|name| Some(name.as_str()))
                .collect(),
        }
    }

    fn watch<T: Watched>(
        &self,
        what: &str,
        namespace: Option<&str>,
        config: Config,
        store: fn(&Stores) -> &Store<T>,
        wake: fn(&Wake, &Change<T>),
    ) where
        T::Kind: Resource<Scope = NamespaceResourceScope>,
    {
        let (name, api) = match namespace {
            Some(namespace) => (
                format!("{what} in {namespace}"),
                Api::namespaced(self.client.clone(), namespace),
            ),
            None => (what.to_owned(), Api::all(self.client.clone())),
        };
        self.spawn(name, api, namespace, config, store, wake);
    }

    fn spawn<T: Watched>(
        &self,
        name: String,
        api: Api<Seen<T>>,
        namespace: Option<&str>,
        config: Config,
        store: fn(&Stores) -> &Store<T>,
        wake: fn(&Wake, &Change<T>),
    ) {
        self.health.expect(&name);
        let scope = follow::Scope {
            watch: name,
            namespace: namespace.map(str::to_owned),
        };
        let (stores, woken) = (Arc::clone(&self.stores), Arc::clone(&self.wake));
        let health = Arc::clone(&self.health);
        tokio::spawn(async move {
            let tell = |change: &Change<T>| wake(&woken, change);
            follow::follow(api, config, scope, store(&stores), &health, tell).await;
        });
    }
}
