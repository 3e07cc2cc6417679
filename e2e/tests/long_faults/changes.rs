//! What users do meanwhile: new images, pools that come and go, SchedExts that come and go, nodes
//! that change the label by which they are selected.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use sked_api::{Pool, SchedExt, SchedExtSpec};

use crate::fleet::{NODES, TIMEOUT};
use testkit::seed::Seed;

/// These always exist; their DaemonSets must never be deleted.
pub(crate) const STEADY: [&str; 2] = ["steady-one", "steady-two"];

/// The specs that are wanted at the moment.
pub(crate) struct Changes {
    pub(crate) made: usize,
    schedexts: Api<SchedExt>,
    nodes: Api<Node>,
    seed: Seed,
    wanted: BTreeMap<String, SchedExtSpec>,
}

impl Changes {
    pub(crate) async fn begin(schedexts: Api<SchedExt>, nodes: Api<Node>, seed: Seed) -> Self {
        let mut changes = Self {
            made: 0,
            schedexts,
            nodes,
            seed,
            wanted: BTreeMap::new(),
        };
        for (number, name) in STEADY.into_iter().enumerate() {
            // Both want rows 0 and 1: somebody has to lose.
            let mut spec = spec(0);
            spec.node_selector.clear();
            spec.priority = number as i32 * 10;
            changes.put(name, spec).await;
        }
        changes
    }

    /// Makes one random change.
    pub(crate) async fn one(&mut self) {
        self.made += 1;
        let number = self.seed.below(4);
        let guest = format!("guest-{number}");
        match self.seed.below(6) {
            0 => {
                let steady = STEADY[self.seed.below(2) as usize];
                let mut spec = self.wanted[steady].clone();
                spec.sched = image(self.seed.below(1000));
                self.put(steady, spec).await;
            }
            1 => {
                let steady = STEADY[self.seed.below(2) as usize];
                let mut spec = self.wanted[steady].clone();
                spec.priority = self.seed.below(20) as i32;
                self.put(steady, spec).await;
            }
            2 => {
                let row = self.seed.below(4).to_string();
                let node = format!("node-{}", self.seed.below(NODES as u64));
                let patch = json!({"metadata": {"labels": {"row": row}}});
                let (patch, params) = (Patch::Merge(&patch), PatchParams::default());
                let nodes = &self.nodes;
                until_ok(async || nodes.patch(&node, &params, &patch).await).await;
            }
            3 if self.wanted.remove(&guest).is_some() => {
                let params = DeleteParams::default();
                let schedexts = &self.schedexts;
                until_ok(async || match schedexts.delete(&guest, &params).await {
                    // The answer to the first try was lost.
                    Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                    other => other.map(drop),
                })
                .await;
            }
            4 if self.wanted.contains_key(&guest) => {
                let mut spec = self.wanted[&guest].clone();
                let row = self.seed.below(4).to_string();
                match spec.pools.pop() {
                    Some(_) => {}
                    None => spec.pools.push(Pool {
                        name: "batch".to_owned(),
                        node_selector: BTreeMap::from([("row".to_owned(), row)]),
                        args: Some(vec!["--batch".to_owned()]),
                        ..Pool::default()
                    }),
                }
                self.put(&guest, spec).await;
            }
            _ => {
                let (row, priority) = (self.seed.below(4), self.seed.below(20));
                let mut spec = spec(row);
                spec.priority = priority as i32;
                self.put(&guest, spec).await;
            }
        }
    }

    /// The DaemonSets that must exist, with their images.
    pub(crate) fn daemonsets(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for (name, spec) in &self.wanted {
            all.insert(name.clone(), spec.sched.clone());
            for pool in &spec.pools {
                all.insert(format!("{name}-{}", pool.name), spec.sched.clone());
            }
        }
        all
    }

    /// The specs, for [`Changes::restored`].
    pub(crate) fn wanted(&self) -> BTreeMap<String, SchedExtSpec> {
        self.wanted.clone()
    }

    /// The API server has these specs again.
    pub(crate) fn restored(&mut self, wanted: BTreeMap<String, SchedExtSpec>) {
        self.wanted = wanted;
    }

    /// The nodes that are selected: all, by the steady ones.
    pub(crate) async fn nodes(&self) -> Vec<String> {
        let all = self.nodes.list(&ListParams::default()).await.unwrap();
        all.iter().map(ResourceExt::name_any).collect()
    }

    async fn put(&mut self, name: &str, spec: SchedExtSpec) {
        let schedexts = &self.schedexts;
        let new = PostParams::default();
        until_ok(async || {
            let mut wanted = SchedExt::new(name, spec.clone());
            let live = schedexts.get_opt(name).await?;
            match live.filter(|live| live.metadata.deletion_timestamp.is_none()) {
                Some(live) => {
                    wanted.metadata.resource_version = live.resource_version();
                    wanted.status = live.status;
                    schedexts.replace(name, &new, &wanted).await
                }
                None => schedexts.create(&new, &wanted).await,
            }
        })
        .await;
        self.wanted.insert(name.to_owned(), spec);
    }
}

/// Repeats a request until it succeeds: one whose answer was lost may have been carried out, and the
/// manager may have written a status in between.
async fn until_ok<T>(mut ask: impl AsyncFnMut() -> kube::Result<T>) -> T {
    let begin = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => assert!(begin.elapsed() < TIMEOUT, "not within {TIMEOUT:?}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn spec(row: u64) -> SchedExtSpec {
    SchedExtSpec {
        sched: image(row),
        node_selector: BTreeMap::from([("row".to_owned(), row.to_string())]),
        ..SchedExtSpec::default()
    }
}

fn image(number: u64) -> String {
    format!("registry.example/scx_rusty:1.{number}")
}
