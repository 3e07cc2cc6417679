//! Short hashes: of what a SchedExt runs (`status.revision`), of what one part runs (a label of
//! its pods), and of the nodes that it selects. The first two do not depend on where it runs.

use sha2::{Digest, Sha256};
use sked_api::SchedExt;

use crate::part::{Part, parts};

/// Of image, arguments, environment and watchdog timeout of the base and each pool.
pub fn revision(schedext: &SchedExt) -> String {
    let mut hash = Hash::default();
    for part in parts(schedext) {
        hash.feed(part.pool_name().unwrap_or_default());
        hash.feed_part(&part);
    }
    hash.feed_watchdog(schedext);
    hash.finish()
}

/// Of node selectors, affinity and tolerations.
pub fn selection(schedext: &SchedExt) -> String {
    let spec = &schedext.spec;
    let pools: Vec<_> = spec
        .pools
        .iter()
        .map(|pool| (&pool.name, &pool.node_selector))
        .collect();
    let all = (
        &spec.node_selector,
        &spec.affinity,
        &spec.tolerations,
        pools,
    );
    let mut hash = Hash::default();
    // Plain data always serializes.
    hash.feed(&serde_json::to_string(&all).unwrap_or_default());
    hash.finish()
}

impl Part<'_> {
    /// Of image, arguments, environment and watchdog timeout of this part alone.
    pub fn revision(&self) -> String {
        let mut hash = Hash::default();
        hash.feed_part(self);
        hash.feed_watchdog(self.schedext);
        hash.finish()
    }
}

#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn feed(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn feed_part(&mut self, part: &Part<'_>) {
        self.feed(part.sched());
        self.feed(&part.args().len().to_string());
        part.args().iter().for_each(|arg| self.feed(arg));
        self.feed(&part.env().len().to_string());
        for variable in part.env() {
            self.feed(&variable.name);
            self.feed(&variable.value);
        }
    }

    fn feed_watchdog(&mut self, schedext: &SchedExt) {
        let timeout = schedext.spec.watchdog_timeout.as_deref();
        self.feed(timeout.unwrap_or_default());
    }

    fn finish(self) -> String {
        let digest = self.0.finalize();
        let [a, b, c, d, e, ..]: [u8; 32] = digest.into();
        format!("{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}")
    }
}
