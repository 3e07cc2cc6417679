//! `status.revision`: a short hash of what a SchedExt runs, independent of where it runs.

use sha2::{Digest, Sha256};
use sked_api::SchedExt;

use crate::part::parts;

/// Of image, arguments, environment and watchdog timeout of the base and each pool.
pub(super) fn revision(schedext: &SchedExt) -> String {
    let mut hash = Sha256::new();
    let mut feed = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for part in parts(schedext) {
        feed(part.pool_name().unwrap_or_default());
        feed(part.sched());
        feed(&part.args().len().to_string());
        part.args().iter().for_each(|arg| feed(arg));
        feed(&part.env().len().to_string());
        for variable in part.env() {
            feed(&variable.name);
            feed(&variable.value);
        }
    }
    feed(
        schedext
            .spec
            .watchdog_timeout
            .as_deref()
            .unwrap_or_default(),
    );
    let digest = hash.finalize();
    digest
        .iter()
        .take(5)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
