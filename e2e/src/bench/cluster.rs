//! A control plane without nodes, asked through kube's client.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Config, Resource, ResourceExt};
use lab::counters::counters;
use lab::{Lab, LabSpec, Topology};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sked_api::SchedExt;

use crate::program::labs;

/// Anything that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(900);
/// How many requests are in flight at a time, of sked and of the bare loop beside it.
pub const CONCURRENCY: usize = 16;

/// The resources whose writes are counted.
const WATCHED: [&str; 5] = ["schedexts", "daemonsets", "nodes", "pods", "events"];
const WRITES: [&str; 5] = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];

/// Ends when dropped.
pub struct BenchCluster {
    pub lab: Lab,
    pub client: Client,
}

impl BenchCluster {
    /// Brings a control plane up with the CRDs, with or without kwok.
    pub async fn up(name: &str, kwok: bool) -> anyhow::Result<Self> {
        let spec = LabSpec {
            kwok,
            ..LabSpec::new(name, Topology::ControlPlane, &labs())
        };
        let lab = Lab::up(&spec, |_| {})?;
        let cluster = Self {
            client: client(&kubeconfig(&lab)?).await?,
            lab,
        };
        let crds: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
        for crd in sked_api::crd::all()? {
            crds.create(&PostParams::default(), &crd).await?;
        }
        let all: Api<SchedExt> = Api::all(cluster.client.clone());
        cluster
            .until("SchedExts are served", async || {
                Ok(all.list(&ListParams::default()).await.is_ok())
            })
            .await?;
        Ok(cluster)
    }

    pub fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        kubeconfig(&self.lab)
    }

    pub async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    /// Creates many objects, [`CONCURRENCY`] at a time.
    pub async fn create<K>(&self, api: &Api<K>, objects: &[K]) -> anyhow::Result<()>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    {
        stream::iter(objects)
            .map(|object| async move { api.create(&PostParams::default(), object).await.map(drop) })
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
            .map_err(Into::into)
    }

    /// Deletes all objects of a kind and waits until they are gone.
    pub async fn clear<K>(&self, api: &Api<K>) -> anyhow::Result<()>
    where
        K: Resource + DeserializeOwned + Clone + Debug,
    {
        api.delete_collection(&DeleteParams::default(), &ListParams::default())
            .await?;
        self.until("all are deleted", async || {
            Ok(api
                .list_metadata(&ListParams::default().limit(1))
                .await?
                .items
                .is_empty())
        })
        .await
    }

    /// How many writes the API server has counted so far, by resource.
    pub async fn writes(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let text = self
            .client
            .request_text(Request::get("/metrics").body(Vec::new())?)
            .await?;
        Ok(count(&text))
    }

    pub async fn until(
        &self,
        what: &str,
        mut holds: impl AsyncFnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let wait = async {
            while !holds().await? {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(LIMIT, wait)
            .await
            .with_context(|| format!("{what}: not within a quarter of an hour"))?
    }
}

/// Waits until so many objects of a kind fulfil a condition. Counts by watching: a list of a thousand
/// objects every moment would slow everybody down.
pub async fn each<K>(
    what: &str,
    wanted: usize,
    all: Api<K>,
    is: impl Fn(&K) -> bool,
) -> anyhow::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut seen = BTreeSet::new();
    let mut watched = pin!(watcher(all, watcher::Config::default()));
    let wait = async {
        while let Some(event) = watched.next().await {
            if let Event::Apply(one) | Event::InitApply(one) = event?
                && is(&one)
            {
                seen.insert(one.name_any());
            }
            if seen.len() == wanted {
                break;
            }
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(LIMIT, wait)
        .await
        .with_context(|| format!("{what}: not within a quarter of an hour"))?
}

fn count(metrics: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for counter in counters(metrics, "apiserver_request_total") {
        let [resource, subresource, verb] =
            ["resource", "subresource", "verb"].map(|name| counter.label(name));
        if WATCHED.contains(&resource) && WRITES.contains(&verb) {
            let name = [resource, subresource].join("/");
            let name = name.trim_end_matches('/').to_owned();
            *counts.entry(name).or_default() += counter.count;
        }
    }
    counts
}

fn kubeconfig(lab: &Lab) -> anyhow::Result<PathBuf> {
    lab.running()
        .kubeconfig
        .clone()
        .context("the lab has no control plane")
}

async fn client(path: &Path) -> anyhow::Result<Client> {
    let config = Kubeconfig::read_from(path)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
