//! A short name for what was asked to run. Where it runs does not matter.

use sha2::{Digest, Sha256};
use sked_api::SchedExt;

use crate::part::parts;

/// A hash of image, arguments, environment and watchdog of the base and each pool.
pub(super) fn revision(schedext: &SchedExt) -> String {
    let mut hash = Sha256::new();
    let mut say = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for part in parts(schedext) {
        say(part.pool_name().unwrap_or_default());
        say(part.sched());
        say(&part.args().len().to_string());
        part.args().iter().for_each(|arg| say(arg));
        say(&part.env().len().to_string());
        for variable in part.env() {
            say(&variable.name);
            say(&variable.value);
        }
    }
    say(schedext
        .spec
        .watchdog_timeout
        .as_deref()
        .unwrap_or_default());
    let digest = hash.finalize();
    digest
        .iter()
        .take(5)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
