//! The control plane of these tests, with kwok nodes, and managers that run against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use lab::counters::counters;
use lab::{Lab, LabSpec, StopSignal, Topology};
use serde_json::json;
use sked_api::SchedExt;
use testkit::program::{self, labs};

use crate::changes::Changes;
use crate::fleet::{NAMESPACE, NODES, TIMEOUT};
use crate::manager::Manager;

/// The reporting component of our events.
const AUTHOR: &str = "sked-controller";
const CONTROLLERS: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];
/// In the order in which they are started.
const SERVICES: [&str; 5] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
];
const WATCHED: [&str; 4] = ["schedexts", "daemonsets", "nodes", "pods"];

pub(crate) struct Cluster {
    pub(crate) client: Client,
    lab: Arc<Lab>,
}

impl Cluster {
    pub(crate) async fn up(name: &str) -> Self {
        let spec = LabSpec {
            kwok: true,
            ..LabSpec::new(name, Topology::ControlPlane, &labs())
        };
        let lab = Lab::up(&spec, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let lab = Arc::new(lab);
        let config = Kubeconfig::read_from(lab.running().kubeconfig.as_ref().unwrap()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let cluster = Self { client, lab };
        let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
        let new = PostParams::default();
        for crd in sked_api::crd::all().unwrap() {
            crds.create(&new, &crd).await.unwrap();
        }
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(NAMESPACE.to_owned());
        namespaces.create(&new, &namespace).await.unwrap();
        let nodes: Api<Node> = Api::all(cluster.client.clone());
        let (label, value) = lab::kwok::LABEL;
        for number in 0..NODES {
            let name = format!("node-{number}");
            // kubelets set the last one themselves.
            let row = (number % 4).to_string();
            let labels = json!({label: value, "row": row, "kubernetes.io/hostname": name});
            let node = json!({"metadata": {"name": name, "labels": labels}});
            let node = serde_json::from_value(node).unwrap();
            nodes.create(&new, &node).await.unwrap();
        }
        let all = cluster.schedexts();
        cluster
            .until("SchedExts are served", async || {
                all.list(&ListParams::default()).await.is_ok()
            })
            .await;
        cluster
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.lab.running().kubeconfig.clone().unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.lab.state().path(name)
    }

    pub(crate) fn schedexts(&self) -> Api<SchedExt> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn daemonsets(&self) -> Api<DaemonSet> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// A manager without an election: the one before is dead.
    pub(crate) fn manager(&self, kubeconfig: &Path) -> Manager {
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.file("sked.log"))
            .unwrap();
        let manager = Command::new(program::sked())
            .args(["manager", "--health-probe-bind-address=0"])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        Manager::new(manager.unwrap())
    }

    /// Stops the API server and starts it again after a while.
    ///
    /// Kubernetes' own controllers are restarted with it: with leader election they end when they
    /// cannot renew their lease, and here there is no election. A controller manager that lived on did not
    /// collect what SchedExts left behind that were deleted about the time of an outage.
    pub(crate) async fn without_api_server(&self, ending: StopSignal, away: Duration) {
        let lab = Arc::clone(&self.lab);
        let outage = tokio::task::spawn_blocking(move || {
            lab.stop_service("kube-apiserver", ending)?;
            for controller in CONTROLLERS {
                lab.stop_service(controller, StopSignal::Kill)?;
            }
            std::thread::sleep(away);
            lab.start_service("kube-apiserver")?;
            CONTROLLERS
                .iter()
                .try_for_each(|name| lab.start_service(name))
        });
        let outage = outage.await.unwrap();
        outage.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Stops everything but the manager, copies etcd's data from one folder of the lab to another
    /// instead of what is there, and starts everything again. Kubernetes' own parts are restarted
    /// because they do not notice that versions went back.
    pub(crate) async fn copy_etcd(&self, from: &str, to: &str) {
        let [from, to] = [from, to].map(|name| self.file(name));
        let lab = Arc::clone(&self.lab);
        let copied = tokio::task::spawn_blocking(move || {
            for service in SERVICES.iter().rev() {
                lab.stop_service(service, StopSignal::Kill)?;
            }
            if to.exists() {
                std::fs::remove_dir_all(&to).unwrap();
            }
            let copied = Command::new("cp").arg("-a").args([from, to]).status();
            assert!(copied.unwrap().success());
            SERVICES.iter().try_for_each(|name| lab.start_service(name))
        });
        let copied = copied.await.unwrap();
        copied.unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let begin = Instant::now();
        while !holds().await {
            assert!(begin.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// Waits until exactly the wanted DaemonSets exist with the wanted images, every selected node has
    /// one pod, and the statuses are of the latest spec.
    pub(crate) async fn until_settled(&self, changes: &Changes) {
        let begin = Instant::now();
        while let Some(difference) = self.difference(changes).await {
            let passed = begin.elapsed();
            assert!(
                passed < TIMEOUT,
                "not settled after {passed:?}: {difference}"
            );
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// What differs from the wanted state.
    async fn difference(&self, changes: &Changes) -> Option<String> {
        let everything = ListParams::default();
        let live = self.daemonsets().list(&everything).await.unwrap();
        let live: BTreeMap<String, String> = live.iter().map(name_and_image).collect();
        let wanted = changes.daemonsets();
        if live != wanted {
            return Some(format!("DaemonSets {live:?} instead of {wanted:?}"));
        }
        let schedexts = self.schedexts().list(&everything).await.unwrap();
        let stale = schedexts.iter().find(|one| {
            let seen = one.status.as_ref();
            seen.and_then(|status| status.observed_generation) != one.metadata.generation
        });
        if let Some(one) = stale {
            return Some(format!("an old status of {}", one.name_any()));
        }
        let pods = self.pods().list(&everything).await.unwrap();
        let node_of = |pod: &Pod| pod.spec.as_ref()?.node_name.clone();
        let pods_by_name: BTreeMap<String, Option<String>> = pods
            .iter()
            .map(|pod| (pod.name_any(), node_of(pod)))
            .collect();
        let nodes: BTreeSet<&String> = pods_by_name.values().flatten().collect();
        let wanted = changes.nodes().await.len();
        (pods_by_name.len() != wanted || nodes.len() != wanted)
            .then(|| format!("pods {pods_by_name:?} on {wanted} nodes"))
    }

    /// Waits until nobody has written anything for a while: a settled state may still change, such as
    /// the owner of a node with a higher priority elsewhere.
    pub(crate) async fn until_quiet(&self) {
        self.until("no more writes", async || {
            let before = self.writes().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.writes().await == before
        })
        .await;
    }

    /// How many writes the API server has counted, without those of kubelets, and the versions of our
    /// events.
    pub(crate) async fn writes(&self) -> BTreeMap<String, u64> {
        let request = Request::get("/metrics").body(Vec::new()).unwrap();
        let text = self.client.request_text(request).await.unwrap();
        let mut counts = BTreeMap::new();
        for counter in counters(&text, "apiserver_request_total") {
            let [resource, subresource, verb] =
                ["resource", "subresource", "verb"].map(|name| counter.label(name));
            let write = ["POST", "PUT", "PATCH", "APPLY", "DELETE"].contains(&verb);
            let kubelets = matches!(
                (resource, subresource),
                ("nodes" | "pods" | "daemonsets", "status")
            );
            if WATCHED.contains(&resource) && write && !kubelets {
                *counts
                    .entry(format!("{resource}/{subresource}"))
                    .or_default() += counter.count;
            }
        }
        let events: Api<Event> = Api::all(self.client.clone());
        let events = events.list(&ListParams::default()).await.unwrap();
        for event in events {
            if event.reporting_component.as_deref() == Some(AUTHOR) {
                let version = event.resource_version().unwrap().parse().unwrap();
                counts.insert(format!("event {}", event.name_any()), version);
            }
        }
        counts
    }
}

fn name_and_image(daemonset: &DaemonSet) -> (String, String) {
    let spec = daemonset
        .spec
        .as_ref()
        .and_then(|spec| spec.template.spec.as_ref());
    let image = spec.and_then(|spec| spec.containers[0].image.clone());
    (daemonset.name_any(), image.unwrap_or_default())
}
