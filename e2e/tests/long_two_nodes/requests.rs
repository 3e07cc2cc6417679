//! The SchedExts that users make and change during the test: three that want both nodes or one of
//! them, each with a scheduler that has the SchedExt's name in the kernel.

use std::collections::BTreeMap;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use sked_api::SchedExt;
use testkit::node_cluster::SCX_LAB;
use testkit::nodes::NODES;
use testkit::seed::Seed;

const NAMES: [&str; 3] = ["one", "two", "three"];
const MIDDLE: usize = 1000;

/// The part of a spec that changes.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// No two have the same, so that it is clear who wins.
    priority: usize,
    /// Both nodes when `None`.
    node: Option<&'static str>,
}

/// The SchedExts that exist.
pub(crate) struct Requests {
    /// How many changes were made.
    pub(crate) made: usize,
    schedexts: Api<SchedExt>,
    wanted: BTreeMap<&'static str, Request>,
}

impl Requests {
    /// The first one wants everything.
    pub(crate) async fn begin(schedexts: Api<SchedExt>) -> Self {
        let mut requests = Self {
            made: 0,
            schedexts,
            wanted: BTreeMap::new(),
        };
        let (priority, node) = (MIDDLE, None);
        requests.put(NAMES[0], Request { priority, node }).await;
        requests
    }

    /// Creates, deletes or changes one of them.
    pub(crate) async fn change(&mut self, seed: &mut Seed) {
        let name = NAMES[seed.below(NAMES.len() as u64) as usize];
        // Higher or lower than all others, so that nodes get another owner.
        let priority = match seed.below(2) {
            0 => MIDDLE + self.made,
            _ => MIDDLE - self.made,
        };
        let node = NODES.get(seed.below(4) as usize).copied();
        match (self.wanted.get(name).copied(), seed.below(4)) {
            (Some(_), 0) => {
                self.wanted.remove(name);
                let params = DeleteParams::default();
                self.schedexts.delete(name, &params).await.unwrap();
                self.made += 1;
            }
            (Some(request), 1) => self.put(name, Request { node, ..request }).await,
            (Some(request), _) => {
                let request = Request {
                    priority,
                    ..request
                };
                self.put(name, request).await;
            }
            (None, _) => self.put(name, Request { priority, node }).await,
        }
    }

    /// Gives the first node to one that does not have it now, and the second one to yet another:
    /// both kernels get another scheduler once more.
    pub(crate) async fn split_the_nodes(&mut self) {
        let [first, second] = NODES;
        let now = self.winner(first);
        let others: Vec<_> = NAMES.into_iter().filter(|name| now != Some(name)).collect();
        let (priority, node) = (3 * MIDDLE, Some(first));
        self.put(others[0], Request { priority, node }).await;
        let (priority, node) = (2 * MIDDLE, None);
        self.put(others[1], Request { priority, node }).await;
        assert_ne!(self.winner(first), self.winner(second));
    }

    /// The SchedExt that must have a node.
    pub(crate) fn winner(&self, node: &str) -> Option<&'static str> {
        let fits = |request: &Request| request.node.is_none_or(|wanted| wanted == node);
        let candidates = self.wanted.iter().filter(|(_, request)| fits(request));
        let first = candidates.max_by_key(|(_, request)| request.priority);
        first.map(|(name, _)| *name)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.wanted.keys().copied().collect()
    }

    async fn put(&mut self, name: &'static str, request: Request) {
        self.made += 1;
        let Request { priority, node } = request;
        let host = node.map(|node| json!({"kubernetes.io/hostname": node}));
        if self.wanted.insert(name, request).is_some() {
            // A merge patch removes what is null.
            let patch = json!({"spec": {"priority": priority, "nodeSelector": host}});
            let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
            let done = self.schedexts.patch(name, &params, &patch).await;
            done.unwrap();
            return;
        }
        let spec = json!({
            "sched": SCX_LAB,
            "args": ["--name", name],
            "priority": priority,
            "nodeSelector": host.unwrap_or_else(|| json!({})),
        });
        let schedext = SchedExt::new(name, serde_json::from_value(spec).unwrap());
        let params = PostParams::default();
        let done = self.schedexts.create(&params, &schedext).await;
        done.unwrap();
    }
}
