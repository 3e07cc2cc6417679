//! The parts of a SchedExt: its base and its pools. Each part has one DaemonSet, and during a
//! roll-out a second one for its canary. Claims, templates and plans all use this file for names,
//! images, arguments and node selection.

mod watchdog;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelector};
use sha2::{Digest, Sha256};
use sked_api::{EnvVar, Pool, SchedExt};

use crate::name::{ObjectKey, OwnerId, Uid};
use crate::placement::Placement;

pub use watchdog::BadWatchdog;

/// The longest label value: a DaemonSet selects its pods by its name.
const LONGEST_NAME: usize = 63;

#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub schedext: &'a SchedExt,
    /// `None` for the base.
    pub pool: Option<&'a Pool>,
    pub stage: Stage,
}

/// Which of a part's DaemonSets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The ordinary one.
    Stable,
    /// The one of a few nodes that run a new revision first.
    Canary,
}

/// Which DaemonSet of a SchedExt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// `None` for the base.
    pub pool: Option<String>,
    pub stage: Stage,
}

impl PartId {
    pub fn stable(pool: Option<&str>) -> Self {
        Self {
            pool: pool.map(str::to_owned),
            stage: Stage::Stable,
        }
    }
}

/// The base first, then the pools in their order. Admission rejects two pools of one name; should
/// there be two, the first counts.
pub fn parts(schedext: &SchedExt) -> impl Iterator<Item = Part<'_>> {
    let base = Part {
        schedext,
        pool: None,
        stage: Stage::Stable,
    };
    let pools = &schedext.spec.pools;
    let first = |(at, pool): &(usize, &Pool)| !pools[..*at].iter().any(|one| one.name == pool.name);
    let pools = pools.iter().enumerate().filter(first);
    let pools = pools.map(move |(_, pool)| Part {
        schedext,
        pool: Some(pool),
        stage: Stage::Stable,
    });
    std::iter::once(base).chain(pools)
}

impl<'a> Part<'a> {
    pub fn pool_name(&self) -> Option<&'a str> {
        self.pool.map(|pool| pool.name.as_str())
    }

    pub fn id(&self) -> PartId {
        PartId {
            pool: self.pool_name().map(str::to_owned),
            stage: self.stage,
        }
    }

    /// The same part's canary.
    #[must_use]
    pub fn canary(self) -> Self {
        Self {
            stage: Stage::Canary,
            ..self
        }
    }

    /// The value of the owner label on nodes that this part owns.
    pub fn owner(&self) -> OwnerId {
        let uid = uid(self.schedext);
        match self.stage {
            Stage::Stable => OwnerId::new(&uid, self.pool_name()),
            Stage::Canary => OwnerId::canary(&uid, self.pool_name()),
        }
    }

    /// Namespace and name of its DaemonSet. Admission limits the length of both names together; a
    /// longer name is cut, and a hash keeps it unique.
    pub fn key(&self) -> ObjectKey {
        let key = key(self.schedext);
        let name = match (self.pool_name(), self.stage) {
            (None, Stage::Stable) => return key,
            (Some(pool), Stage::Stable) => format!("{}-{pool}", key.name),
            (None, Stage::Canary) => format!("{}-canary", key.name),
            (Some(pool), Stage::Canary) => format!("{}-{pool}-canary", key.name),
        };
        ObjectKey {
            name: shortened(name),
            namespace: key.namespace,
        }
    }

    /// The scheduler's image.
    pub fn sched(&self) -> &'a str {
        let own = self.pool.and_then(|pool| pool.sched.as_deref());
        own.unwrap_or(&self.schedext.spec.sched)
    }

    pub fn args(&self) -> &'a [String] {
        let own = self.pool.and_then(|pool| pool.args.as_deref());
        own.unwrap_or(&self.schedext.spec.args)
    }

    pub fn env(&self) -> &'a [EnvVar] {
        let own = self.pool.and_then(|pool| pool.env.as_deref());
        own.unwrap_or(&self.schedext.spec.env)
    }

    /// Labels that a node must have. A pool's selector replaces the base's, it does not add to it.
    pub fn node_selector(&self) -> &'a BTreeMap<String, String> {
        let own = self.pool.map(|pool| &pool.node_selector);
        own.unwrap_or(&self.schedext.spec.node_selector)
    }

    /// `spec.affinity`, which applies to all parts.
    pub fn node_affinity(&self) -> Option<&'a NodeAffinity> {
        self.schedext.spec.affinity.as_ref()?.node_affinity.as_ref()
    }

    /// `spec.watchdogTimeout`, parsed.
    ///
    /// # Errors
    /// When it is not a time from 1 to 30 seconds. Admission rejects such a value.
    pub fn watchdog(&self) -> Result<Option<Duration>, BadWatchdog> {
        let text = self.schedext.spec.watchdog_timeout.as_deref();
        text.map(watchdog::parse).transpose()
    }

    /// Which nodes it selects.
    pub fn placement(&self) -> Placement {
        let required: Option<&NodeSelector> = self.node_affinity().and_then(|affinity| {
            let required = &affinity.required_during_scheduling_ignored_during_execution;
            required.as_ref()
        });
        Placement::new(
            self.node_selector().clone(),
            required,
            self.schedext.spec.tolerations.clone(),
        )
    }
}

/// The uid of a SchedExt; empty only for an object that was never sent to an API server.
pub fn uid(schedext: &SchedExt) -> Uid {
    Uid(schedext.metadata.uid.clone().unwrap_or_default())
}

pub fn key(schedext: &SchedExt) -> ObjectKey {
    ObjectKey {
        namespace: schedext.metadata.namespace.clone().unwrap_or_default(),
        name: schedext.metadata.name.clone().unwrap_or_default(),
    }
}

fn shortened(name: String) -> String {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let hash = Sha256::digest(name.as_bytes());
    let hash: String = hash
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut end = LONGEST_NAME - 1 - hash.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", name[..end].trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_stays_apart_from_its_neighbours() {
        let one = shortened(format!("{}-one", "x".repeat(62)));
        let two = shortened(format!("{}-two", "x".repeat(62)));
        assert_eq!(one.len(), LONGEST_NAME);
        assert_ne!(one, two);
        assert_eq!(shortened("a-b".to_owned()), "a-b");
    }
}
