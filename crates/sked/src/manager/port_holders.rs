//! Finds out who has the host port that keeps two schedulers off one node, where kube-scheduler
//! cannot place a pod of ours because of it. Only pods of schedulers are watched, so the pods of such
//! a node are listed; normally there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use sked_api::label;
use sked_plan::live_pod::PodState;
use sked_plan::{NodeName, ObjectKey};
use tokio::sync::Notify;

use crate::error_chain::chain;
use crate::manager::leadership::Leadership;
use crate::manager::ownership::is_ours;
use crate::manager::queue::Queue;
use crate::manager::stores::{Stored, Stores};
use crate::stop::Stop;

/// How often the pods of a node are listed.
const INTERVAL: Duration = Duration::from_secs(30);
/// How many nodes are asked about: one pod that is everywhere is named by one of them.
const MOST_NODES: usize = 10;

/// The pods that have the port, and are no schedulers of ours.
#[derive(Debug, Default)]
pub(crate) struct PortHolders(Mutex<BTreeMap<NodeName, ObjectKey>>);

impl PortHolders {
    pub(crate) fn on(&self, node: &NodeName) -> Option<ObjectKey> {
        let holders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        holders.get(node).cloned()
    }

    /// Returns whether it changed.
    fn set(&self, holders: BTreeMap<NodeName, ObjectKey>) -> bool {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = *before != holders;
        *before = holders;
        changed
    }
}

pub(crate) struct PortHolderSearch {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) holders: Arc<PortHolders>,
    /// Notified when a pod of ours cannot be placed.
    pub(crate) changed: Arc<Notify>,
}

impl PortHolderSearch {
    /// Runs until a stop is requested.
    pub(crate) async fn run(&self, mut stop: Stop) {
        loop {
            let again = async {
                match self.blocked_nodes().is_empty() {
                    true => self.changed.notified().await,
                    false => tokio::time::sleep(INTERVAL).await,
                }
            };
            tokio::select! {
                () = again => {}
                () = stop.requested() => return,
            }
            self.search().await;
        }
    }

    /// Publishes who has the port on nodes where pods of ours cannot be placed.
    pub(crate) async fn search(&self) {
        let nodes = self.blocked_nodes();
        let mut holders = BTreeMap::new();
        for node in nodes.iter().take(MOST_NODES) {
            if let Some(holder) = self.holder(node).await {
                holders.insert(node.clone(), holder);
            }
        }
        if self.holders.set(holders) {
            for seen in self.stores.schedexts.all() {
                self.queue.now(&seen.key());
            }
        }
    }

    fn blocked_nodes(&self) -> BTreeSet<NodeName> {
        let pods = self.stores.pods.all();
        let blocked = pods.iter().filter(|pod| is_blocked(&pod.state));
        blocked.filter_map(|pod| pod.node.clone()).collect()
    }

    async fn holder(&self, node: &NodeName) -> Option<ObjectKey> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let there = ListParams::default().fields(&format!(
            "spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
        ));
        match self.leadership.write(pods.list(&there)).await {
            Ok(pods) => {
                let mut holders = pods.items.iter().filter(|pod| claims_port(pod)).map(key);
                holders.find(|holder| !self.is_ours(holder))
            }
            Err(error) => {
                tracing::debug!(%node, "cannot list its pods: {}", chain(&error));
                None
            }
        }
    }

    fn is_ours(&self, key: &ObjectKey) -> bool {
        let pod = self.stores.pods.get(key);
        pod.is_some_and(|pod| is_ours(&self.stores, &pod))
    }
}

/// Whether kube-scheduler's reason is a port.
pub(crate) fn is_blocked(state: &PodState) -> bool {
    matches!(state, PodState::Unscheduled(Some(why)) if why.contains("free ports"))
}

/// Init containers count if they stay (sidecars).
fn claims_port(pod: &Pod) -> bool {
    let containers = |spec: &PodSpec| {
        let init = spec.init_containers.iter().flatten();
        let sidecars = init.filter(|one| one.restart_policy.as_deref() == Some("Always"));
        sidecars.chain(&spec.containers).any(container_claims_port)
    };
    pod.spec.as_ref().is_some_and(containers)
}

fn container_claims_port(container: &Container) -> bool {
    let mut ports = container.ports.iter().flatten();
    ports.any(|port| {
        port.host_port == Some(label::EXCLUSION_PORT) && port.protocol.as_deref() == Some("UDP")
    })
}

fn key(pod: &Pod) -> ObjectKey {
    ObjectKey {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
    }
}
