//! Starts one watch for each kind and namespace; each fills its store.

mod follow;
mod restored;

use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use sked_api::SchedExt;
use tokio::sync::watch;

use crate::args::ManagerArgs;
use crate::manager::cache_health::CacheHealth;
use crate::manager::stores::{Decoded, Store, Stores, Watched};

/// How many objects one list request returns: larger pages cost memory that is never given back.
const PAGE: u32 = 100;

pub(crate) struct Watches {
    client: Client,
    /// Watch only these; an empty list means all namespaces.
    namespaces: Vec<String>,
    /// The namespace of the node agents. Pods elsewhere are not accepted as agents.
    agents: String,
    stores: Arc<Stores>,
    health: Arc<CacheHealth>,
    /// Makes all watches list again.
    relist: watch::Sender<()>,
}

impl Watches {
    pub(crate) fn new(
        client: Client,
        args: &ManagerArgs,
        agents: String,
        stores: Arc<Stores>,
        health: Arc<CacheHealth>,
    ) -> Self {
        Self {
            client,
            namespaces: args.watch_namespaces.clone(),
            agents,
            stores,
            health,
            relist: watch::Sender::default(),
        }
    }

    /// Starts all watches; they end with the process.
    ///
    /// DaemonSets are watched without a selector: a DaemonSet without our label may have a name
    /// that we need, and ours may lose the label. Pods and events are many, so the API server
    /// filters them.
    pub(crate) fn start(&self) {
        let all = || Config::default().page_size(PAGE);
        let (key, value) = sked_api::label::MANAGED_BY;
        let ours = all().labels(&format!("{key}={value}"));
        let refused = all().fields("reason=FailedCreate,involvedObject.kind=DaemonSet");
        for namespace in self.scopes() {
            self.watch("schedexts", namespace, all(), |stores| &stores.schedexts);
            self.watch("daemonsets", namespace, all(), |stores| &stores.daemonsets);
            self.watch("pods", namespace, ours.clone(), |stores| &stores.pods);
            self.watch("events", namespace, refused.clone(), |stores| {
                &stores.failed_creates
            });
        }
        let nodes = Api::all(self.client.clone());
        self.spawn("nodes".to_owned(), nodes, None, all(), |stores| {
            &stores.nodes
        });
        let reports = Api::all(self.client.clone());
        self.spawn("schedextnodes".to_owned(), reports, None, all(), |stores| {
            &stores.reports
        });
        let (key, value) = sked_api::label::NODE_AGENT;
        self.watch(
            "agents",
            Some(&self.agents),
            all().labels(&format!("{key}={value}")),
            |stores| &stores.agents,
        );
        let schedexts: Api<SchedExt> = match self.namespaces.first() {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        tokio::spawn(restored::observe(schedexts, self.relist.clone()));
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
        self.spawn(name, api, namespace, config, store);
    }

    fn spawn<T: Watched>(
        &self,
        name: String,
        api: Api<Decoded<T>>,
        namespace: Option<&str>,
        config: Config,
        store: fn(&Stores) -> &Store<T>,
    ) {
        self.health.expect(&name);
        let scope = follow::Scope {
            watch: name,
            namespace: namespace.map(str::to_owned),
        };
        let (stores, health) = (Arc::clone(&self.stores), Arc::clone(&self.health));
        let mut relist = self.relist.subscribe();
        tokio::spawn(async move {
            loop {
                let follow =
                    follow::follow(api.clone(), config.clone(), &scope, store(&stores), &health);
                tokio::select! {
                    () = follow => {}
                    _ = relist.changed() => store(&stores).forget_versions(),
                }
            }
        });
    }
}
