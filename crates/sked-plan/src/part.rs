//! The DaemonSets that a SchedExt asks for: its base, and one for each pool.
//!
//! Claims, templates and plans all go through here, so that they mean the same things by the same
//! names.

mod watchdog;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelector};
use sha2::{Digest, Sha256};
use sked_api::{EnvVar, Pool, SchedExt};

use crate::name::{ObjectKey, OwnerId, Uid};
use crate::placement::Placement;

pub use watchdog::BadWatchdog;

/// The longest value of a label, and so of what a DaemonSet selects by.
const LONGEST_NAME: usize = 63;

/// One of the DaemonSets that a SchedExt asks for.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Whose it is.
    pub schedext: &'a SchedExt,
    /// The pool; the base has none.
    pub pool: Option<&'a Pool>,
}

/// All that a SchedExt asks for: the base first, then its pools in their order. Of two pools with
/// one name, which admission refuses, the first counts.
pub fn parts(schedext: &SchedExt) -> impl Iterator<Item = Part<'_>> {
    let base = Part {
        schedext,
        pool: None,
    };
    let pools = &schedext.spec.pools;
    let first = |(at, pool): &(usize, &Pool)| !pools[..*at].iter().any(|one| one.name == pool.name);
    let pools = pools.iter().enumerate().filter(first);
    let pools = pools.map(move |(_, pool)| Part {
        schedext,
        pool: Some(pool),
    });
    std::iter::once(base).chain(pools)
}

impl<'a> Part<'a> {
    /// The pool's name.
    pub fn pool_name(&self) -> Option<&'a str> {
        self.pool.map(|pool| pool.name.as_str())
    }

    /// As nodes' labels say it.
    pub fn owner(&self) -> OwnerId {
        OwnerId::new(&uid(self.schedext), self.pool_name())
    }

    /// Namespace and name of its DaemonSet. Admission keeps a SchedExt's name and a pool's short
    /// enough together; what got past it is cut, and a hash keeps two of them apart.
    pub fn key(&self) -> ObjectKey {
        let key = key(self.schedext);
        let Some(pool) = self.pool_name() else {
            return key;
        };
        ObjectKey {
            name: shortened(format!("{}-{pool}", key.name)),
            namespace: key.namespace,
        }
    }

    /// The image.
    pub fn sched(&self) -> &'a str {
        let own = self.pool.and_then(|pool| pool.sched.as_deref());
        own.unwrap_or(&self.schedext.spec.sched)
    }

    /// The scheduler's arguments.
    pub fn args(&self) -> &'a [String] {
        let own = self.pool.and_then(|pool| pool.args.as_deref());
        own.unwrap_or(&self.schedext.spec.args)
    }

    /// The scheduler's environment.
    pub fn env(&self) -> &'a [EnvVar] {
        let own = self.pool.and_then(|pool| pool.env.as_deref());
        own.unwrap_or(&self.schedext.spec.env)
    }

    /// Labels that a node must have. A pool's stand instead of the base's, not besides: pools may
    /// lie anywhere.
    pub fn node_selector(&self) -> &'a BTreeMap<String, String> {
        let own = self.pool.map(|pool| &pool.node_selector);
        own.unwrap_or(&self.schedext.spec.node_selector)
    }

    /// The user's own rules for nodes, which pools share.
    pub fn node_affinity(&self) -> Option<&'a NodeAffinity> {
        self.schedext.spec.affinity.as_ref()?.node_affinity.as_ref()
    }

    /// How long a task may wait, if that was asked for.
    ///
    /// # Errors
    /// When it is not a time from 1 to 30 seconds, which admission refuses.
    pub fn watchdog(&self) -> Result<Option<Duration>, BadWatchdog> {
        let text = self.schedext.spec.watchdog_timeout.as_deref();
        text.map(watchdog::parse).transpose()
    }

    /// Which nodes it asks for.
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

/// A SchedExt's uid; empty only for one that no API server has seen.
pub fn uid(schedext: &SchedExt) -> Uid {
    Uid(schedext.metadata.uid.clone().unwrap_or_default())
}

/// A SchedExt's namespace and name.
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
