//! What users ask for during the course: three SchedExts that want both nodes or one of them, each
//! with a scheduler that the kernel knows by the SchedExt's name.

use std::collections::BTreeMap;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use sked_api::SchedExt;

use crate::cluster::NODES;
use crate::seed::Seed;

const NAMES: [&str; 3] = ["one", "two", "three"];
const MIDDLE: usize = 1000;

/// What one of them asks for.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// Never the same twice, so that it is clear who goes first.
    priority: usize,
    /// Which node; any: `None`.
    node: Option<&'static str>,
}

/// What is asked for at the moment.
pub(crate) struct Wishes {
    pub(crate) made: usize,
    schedexts: Api<SchedExt>,
    wanted: BTreeMap<&'static str, Wish>,
}

impl Wishes {
    /// The first one wants everything.
    pub(crate) async fn begin(schedexts: Api<SchedExt>) -> Self {
        let mut wishes = Self {
            made: 0,
            schedexts,
            wanted: BTreeMap::new(),
        };
        let (priority, node) = (MIDDLE, None);
        wishes.put(NAMES[0], Wish { priority, node }).await;
        wishes
    }

    /// One of them comes, goes, or wants something else.
    pub(crate) async fn change(&mut self, seed: &mut Seed) {
        let name = NAMES[seed.below(NAMES.len() as u64) as usize];
        // Before or behind everybody else, so that nodes change hands.
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
            (Some(wish), 1) => self.put(name, Wish { node, ..wish }).await,
            (Some(wish), _) => self.put(name, Wish { priority, ..wish }).await,
            (None, _) => self.put(name, Wish { priority, node }).await,
        }
    }

    /// In the end the first node is for one that does not have it now, and the second one for
    /// yet another: both kernels change hands once more.
    pub(crate) async fn part_the_nodes(&mut self) {
        let [first, second] = NODES;
        let now = self.winner(first);
        let others: Vec<_> = NAMES.into_iter().filter(|name| now != Some(name)).collect();
        let (priority, node) = (3 * MIDDLE, Some(first));
        self.put(others[0], Wish { priority, node }).await;
        let (priority, node) = (2 * MIDDLE, None);
        self.put(others[1], Wish { priority, node }).await;
        assert_ne!(self.winner(first), self.winner(second));
    }

    /// Whose a node must be.
    pub(crate) fn winner(&self, node: &str) -> Option<&'static str> {
        let fits = |wish: &Wish| wish.node.is_none_or(|wanted| wanted == node);
        let asking = self.wanted.iter().filter(|(_, wish)| fits(wish));
        let first = asking.max_by_key(|(_, wish)| wish.priority);
        first.map(|(name, _)| *name)
    }

    /// Everybody who asks for something.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.wanted.keys().copied().collect()
    }

    async fn put(&mut self, name: &'static str, wish: Wish) {
        self.made += 1;
        let Wish { priority, node } = wish;
        let host = node.map(|node| json!({"kubernetes.io/hostname": node}));
        if self.wanted.insert(name, wish).is_some() {
            // What is null goes.
            let patch = json!({"spec": {"priority": priority, "nodeSelector": host}});
            let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
            let put = self.schedexts.patch(name, &params, &patch).await;
            put.unwrap();
            return;
        }
        let spec = json!({
            "sched": "registry.lab:5000/scx_lab:latest",
            "args": ["--name", name],
            "priority": priority,
            "nodeSelector": host.unwrap_or_else(|| json!({})),
        });
        let schedext = SchedExt::new(name, serde_json::from_value(spec).unwrap());
        let params = PostParams::default();
        let put = self.schedexts.create(&params, &schedext).await;
        put.unwrap();
    }
}
