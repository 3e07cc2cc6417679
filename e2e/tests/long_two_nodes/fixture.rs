//! Two nodes with kernels of their own in a real cluster, and managers on this machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, LogParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use lab::Node;
use lab::spec::DEFAULT_KERNEL;
use serde_json::json;
use sked_api::SchedExt;
use testkit::node_cluster::{NAMESPACE, SCX_LAB};
use testkit::nodes::NODES;
use testkit::wait::NODE_TIMEOUT;
use testkit::{Manager, NodeCluster, program};

use crate::requests::Requests;

pub(crate) struct TwoNodes {
    client: Client,
    cluster: NodeCluster,
}

impl TwoNodes {
    pub(crate) async fn up() -> Self {
        let cluster = NodeCluster::up("long-two-nodes", DEFAULT_KERNEL, 2, &program::sked());
        cluster.install_crds();
        let config = Kubeconfig::read_from(cluster.admin_kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        Self { client, cluster }
    }

    pub(crate) fn schedexts(&self) -> Api<SchedExt> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn nodes(&self) -> [Node<'_>; 2] {
        NODES.map(|name| self.cluster.node(name))
    }

    /// A manager without an election: the one before is dead for sure. It is killed when dropped,
    /// as an out-of-memory killer would.
    pub(crate) fn manager(&self) -> Manager {
        self.cluster.manager(&[])
    }

    /// Waits until each SchedExt has its DaemonSet and a status for its latest spec, each node has
    /// the pod of its winner and no other, and its kernel runs that winner's scheduler.
    pub(crate) async fn until_settled(&self, requests: &Requests) {
        let wanted: BTreeMap<_, _> = NODES
            .map(|node| (node.to_owned(), requests.winner(node).map(str::to_owned)))
            .into();
        let names = requests.names();
        let daemonsets: Api<DaemonSet> = Api::namespaced(self.client.clone(), NAMESPACE);
        let everything = ListParams::default();
        self.until("the cluster is as requested", async || {
            let live = daemonsets.list(&everything).await.unwrap();
            let mut live: Vec<_> = live.iter().map(ResourceExt::name_any).collect();
            live.sort();
            let pods = self.pods().list(&everything).await.unwrap();
            let position = |pod: &Pod| {
                let node = pod.spec.as_ref()?.node_name.clone()?;
                Some((node, pod.labels().get("name").cloned()))
            };
            let placed: BTreeMap<_, _> = pods.iter().filter_map(position).collect();
            let schedexts = self.schedexts().list(&everything).await.unwrap();
            let observed = schedexts.iter().all(|one| {
                let status = one.status.as_ref();
                status.and_then(|status| status.observed_generation) == one.metadata.generation
            });
            let kernels: BTreeMap<_, _> = NODES
                .map(|node| (node.to_owned(), self.cluster.ops(node)))
                .into();
            let right = live == names
                && pods.items.len() == NODES.len()
                && placed == wanted
                && kernels == wanted
                && observed;
            right.then_some(()).ok_or_else(|| {
                let pods: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
                format!(
                    "wanted {wanted:?}: {live:?}, {pods:?}, {placed:?}, {kernels:?}, {observed}"
                )
            })
        })
        .await;
    }

    /// Starts a scheduler that is not planned on a node whose kernel runs one, and returns its
    /// output.
    pub(crate) async fn attach_by_hand(&self, node: &str) -> String {
        let pod = json!({
            "metadata": {"name": "by-hand"},
            "spec": {
                "nodeName": node, "restartPolicy": "Never", "hostPID": true,
                "containers": [{
                    "name": "scx", "image": SCX_LAB,
                    "securityContext": {"privileged": true},
                    "volumeMounts": [{"name": "boot", "mountPath": "/boot", "readOnly": true}],
                }],
                "volumes": [{"name": "boot", "hostPath": {"path": "/boot"}}],
            },
        });
        let pod = serde_json::from_value(pod).unwrap();
        let pods = self.pods();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        self.until("it has ended", async || {
            let pod = pods.get("by-hand").await.unwrap();
            let phase = pod.status.and_then(|status| status.phase);
            let ended = phase.as_deref() == Some("Failed");
            ended.then_some(()).ok_or_else(|| format!("{phase:?}"))
        })
        .await;
        let output = pods.logs("by-hand", &LogParams::default()).await;
        output.unwrap()
    }

    /// Asks until it holds; otherwise the failure has the last answer.
    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> Result<(), String>) {
        let begin = Instant::now();
        while let Err(instead) = holds().await {
            let late = begin.elapsed() >= NODE_TIMEOUT;
            assert!(!late, "{what}: not within {NODE_TIMEOUT:?}: {instead}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}
