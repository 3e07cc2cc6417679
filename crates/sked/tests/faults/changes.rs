//! What users do during the course: new images, pools that come and go, SchedExts that come and
//! go, nodes that change their row.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use sked_api::{Pool, SchedExt, SchedExtSpec};

use crate::cluster::{Cluster, NODES};
use crate::seed::Seed;

/// These are always there; their DaemonSets must never be deleted.
pub(crate) const STEADY: [&str; 2] = ["steady-one", "steady-two"];

/// What is asked for at the moment.
pub(crate) struct Changes {
    pub(crate) made: usize,
    schedexts: Api<SchedExt>,
    nodes: Api<Node>,
    seed: Seed,
    wanted: BTreeMap<String, SchedExtSpec>,
}

impl Changes {
    pub(crate) async fn begin(cluster: &Cluster, seed: Seed) -> Self {
        let mut changes = Self {
            made: 0,
            schedexts: cluster.schedexts(),
            nodes: Api::all(cluster.client.clone()),
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

    /// Does one of them.
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
                let patch = Patch::Merge(&patch);
                let params = PatchParams::default();
                self.nodes.patch(&node, &params, &patch).await.unwrap();
            }
            3 if self.wanted.remove(&guest).is_some() => {
                let params = DeleteParams::default();
                self.schedexts.delete(&guest, &params).await.unwrap();
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

    /// DaemonSets that there must be, with their images.
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

    /// Nodes that somebody wants: all, by the steady ones.
    pub(crate) async fn nodes(&self) -> Vec<String> {
        let all = self.nodes.list(&ListParams::default()).await.unwrap();
        all.iter().map(ResourceExt::name_any).collect()
    }

    async fn put(&mut self, name: &str, spec: SchedExtSpec) {
        let wanted = SchedExt::new(name, spec.clone());
        if let Some(live) = self.schedexts.get_opt(name).await.unwrap()
            && live.metadata.deletion_timestamp.is_none()
        {
            let mut wanted = wanted;
            wanted.metadata.resource_version = live.resource_version();
            wanted.status = live.status;
            let params = PostParams::default();
            let put = self.schedexts.replace(name, &params, &wanted).await;
            // The manager may have written the status in between; the next change tries again.
            if put.is_err() {
                return;
            }
        } else {
            let params = PostParams::default();
            self.schedexts.create(&params, &wanted).await.unwrap();
        }
        self.wanted.insert(name.to_owned(), spec);
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
