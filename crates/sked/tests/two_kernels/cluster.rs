//! Two nodes with kernels of their own in a real cluster, and managers on this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, LogParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use lab::{Event, Lab, LabSpec, Node, Topology};
use serde_json::json;
use sked_api::SchedExt;

use crate::attaches;
use crate::wishes::Wishes;

pub(crate) const NODES: [&str; 2] = ["node1", "node2"];
const NAMESPACE: &str = "default";
/// Generous: the nodes' processors are emulated.
const PATIENCE: Duration = Duration::from_secs(300);

/// A manager, which is killed when it is dropped, as an out-of-memory killer would.
pub(crate) struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) struct Cluster {
    client: Client,
    lab: Lab,
}

impl Cluster {
    pub(crate) async fn up(name: &str) -> Self {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = LabSpec {
            nodes: 2,
            ..LabSpec::new(name, Topology::Cluster, &labs)
        };
        let lab = Lab::up(&order, |event| match event {
            Event::Started { .. } | Event::Finished { .. } => println!("{event:?}"),
            Event::Ready { .. } | Event::Failed { .. } => {}
        });
        let lab = lab.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
        let config = Kubeconfig::read_from(lab.running().kubeconfig.as_ref().unwrap()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let new = PostParams::default();
        for crd in sked_api::crd::all().unwrap() {
            crds.create(&new, &crd).await.unwrap();
        }
        let cluster = Self { client, lab };
        let schedexts = cluster.schedexts();
        cluster
            .until("SchedExts are known", async || {
                let known = schedexts.list(&ListParams::default()).await.is_ok();
                known.then_some(()).ok_or_else(String::new)
            })
            .await;
        cluster
    }

    pub(crate) fn schedexts(&self) -> Api<SchedExt> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn nodes(&self) -> [Node<'_>; 2] {
        NODES.map(|name| self.lab.node(name).unwrap())
    }

    /// A manager without an election: the one before is dead for sure.
    pub(crate) fn manager(&self) -> Manager {
        let log = self.lab.state().path("sked.log");
        let log = File::options().append(true).create(true).open(log).unwrap();
        let manager = Command::new(env!("CARGO_BIN_EXE_sked"))
            .args(["manager", "--health-probe-bind-address=0"])
            .env(
                "KUBECONFIG",
                self.lab.running().kubeconfig.as_ref().unwrap(),
            )
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        Manager(manager.unwrap())
    }

    /// Each SchedExt has its DaemonSet and its latest spec was seen, each node has the pod of its
    /// winner and no other, and its kernel says the same.
    pub(crate) async fn until_settled(&self, wishes: &Wishes) {
        let wanted: BTreeMap<_, _> = NODES
            .map(|node| (node.to_owned(), wishes.winner(node).map(str::to_owned)))
            .into();
        let names = wishes.names();
        let daemonsets: Api<DaemonSet> = Api::namespaced(self.client.clone(), NAMESPACE);
        let everything = ListParams::default();
        self.until("the cluster is what was asked for", async || {
            let live = daemonsets.list(&everything).await.unwrap();
            let mut live: Vec<_> = live.iter().map(ResourceExt::name_any).collect();
            live.sort();
            let pods = self.pods().list(&everything).await.unwrap();
            let place = |pod: &Pod| {
                let node = pod.spec.as_ref()?.node_name.clone()?;
                Some((node, pod.labels().get("name").cloned()))
            };
            let placed: BTreeMap<_, _> = pods.iter().filter_map(place).collect();
            let told = self.schedexts().list(&everything).await.unwrap();
            let told = told.iter().all(|one| {
                let seen = one.status.as_ref();
                seen.and_then(|seen| seen.observed_generation) == one.metadata.generation
            });
            let kernels = self.nodes();
            let kernels: BTreeMap<_, _> = kernels
                .iter()
                .map(|node| (node.name().to_owned(), attaches::attached(node)))
                .collect();
            let right = live == names
                && pods.items.len() == NODES.len()
                && placed == wanted
                && kernels == wanted
                && told;
            right.then_some(()).ok_or_else(|| {
                let pods: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
                format!("wanted {wanted:?}: {live:?}, {pods:?}, {placed:?}, {kernels:?}, {told}")
            })
        })
        .await;
    }

    /// A scheduler that nobody planned, on a node whose kernel has one: what it says at its end.
    pub(crate) async fn attach_by_hand(&self, node: &str) -> String {
        let pod = json!({
            "metadata": {"name": "by-hand"},
            "spec": {
                "nodeName": node, "restartPolicy": "Never", "hostPID": true,
                "containers": [{
                    "name": "scx", "image": "registry.lab:5000/scx_lab:latest",
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
        let said = pods.logs("by-hand", &LogParams::default()).await;
        said.unwrap()
    }

    /// Asks until it is so; otherwise the last answer says how it is instead.
    async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> Result<(), String>) {
        let begin = Instant::now();
        while let Err(instead) = is_so().await {
            let late = begin.elapsed() >= PATIENCE;
            assert!(!late, "{what}: not within {PATIENCE:?}: {instead}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}
