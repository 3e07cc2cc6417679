//! A real API server without kubelets, and what a measurement does with it.

#![allow(dead_code, reason = "each measurement uses its own part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Resource};
use lab::counters::counters;
use lab::{Lab, LabSpec, Topology};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sked_api::SchedExt;

/// How many requests are on their way at a time, ours and those that we are held against.
pub(crate) const CONCURRENCY: usize = 16;

/// What the operator must not write without a reason.
const WATCHED: [&str; 5] = ["schedexts", "daemonsets", "nodes", "pods", "events"];
const WRITES: [&str; 5] = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];

/// The control plane. Dropping it ends it.
pub(crate) struct Cluster {
    pub(crate) lab: Lab,
    pub(crate) client: Client,
}

impl Cluster {
    /// Brings it up with our resource in it.
    pub(crate) async fn up(name: &str, crowd: bool) -> anyhow::Result<Self> {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = LabSpec {
            kwok: crowd,
            ..LabSpec::new(name, Topology::ControlPlane, &labs)
        };
        let lab = Lab::up(&order, |_| {})?;
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
            .until("SchedExts are known", async || {
                Ok(all.list(&ListParams::default()).await.is_ok())
            })
            .await?;
        Ok(cluster)
    }

    /// The administrator's configuration.
    pub(crate) fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        kubeconfig(&self.lab)
    }

    /// A namespace that is there.
    pub(crate) async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        let all: Api<Namespace> = Api::all(self.client.clone());
        all.create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    /// Makes many objects, several at a time.
    pub(crate) async fn create<K>(&self, api: &Api<K>, objects: &[K]) -> anyhow::Result<()>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        stream::iter(objects)
            .map(|object| async move { api.create(&PostParams::default(), object).await.map(drop) })
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
            .map_err(Into::into)
    }

    /// Removes all objects of a kind and waits until they are gone.
    pub(crate) async fn clear<K>(&self, api: &Api<K>) -> anyhow::Result<()>
    where
        K: Resource + DeserializeOwned + Clone + std::fmt::Debug,
    {
        api.delete_collection(&DeleteParams::default(), &ListParams::default())
            .await?;
        self.until("all is gone", async || {
            Ok(api
                .list_metadata(&ListParams::default().limit(1))
                .await?
                .items
                .is_empty())
        })
        .await
    }

    /// How many writes the API server has had so far, by resource, as it counts them itself.
    pub(crate) async fn writes(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let text = self
            .client
            .request_text(Request::get("/metrics").body(Vec::new())?)
            .await?;
        Ok(count(&text))
    }

    /// Waits until it is so.
    pub(crate) async fn until(
        &self,
        what: &str,
        mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let wait = async {
            while !is_so().await? {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(900), wait)
            .await
            .with_context(|| format!("{what}: not within a quarter of an hour"))?
    }
}

fn count(metrics: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for counter in counters(metrics, "apiserver_request_total") {
        let [resource, part, verb] =
            ["resource", "subresource", "verb"].map(|name| counter.label(name));
        if WATCHED.contains(&resource) && WRITES.contains(&verb) {
            let name = [resource, part].join("/");
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
        .context("the lab has no Kubernetes")
}

async fn client(path: &Path) -> anyhow::Result<Client> {
    let config = Kubeconfig::read_from(path)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
