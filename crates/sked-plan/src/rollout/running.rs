//! Which images run of a SchedExt, for the trust policy.

use std::collections::BTreeSet;

use super::good::restored;
use super::is_deployed;
use super::templates::Templates;
use crate::observed::Observed;
use crate::part::parts;

/// Those that DaemonSets ask for, and those of pods that are still to be replaced.
pub(crate) fn running(observed: &Observed) -> BTreeSet<String> {
    if observed.verification.runs_nothing() {
        return BTreeSet::new();
    }
    let daemonsets = observed.daemonsets.iter().map(|live| &**live);
    let is_deployed = is_deployed(&observed.schedext, daemonsets);
    let mut images = written(&Templates::new(&observed.schedext, is_deployed));
    images.extend(still_running(observed));
    images
}

/// Those that DaemonSets ask for.
pub(super) fn written(templates: &Templates<'_>) -> BTreeSet<String> {
    let parts = templates.parts();
    parts.iter().map(|part| part.sched().to_owned()).collect()
}

/// Those of good revisions that a pod runs.
pub(super) fn still_running(observed: &Observed) -> Vec<String> {
    let schedext = &observed.schedext;
    let goods = schedext.status.iter().flat_map(|status| {
        let goods = [&status.last_good, &status.previous_good].into_iter();
        goods.flatten()
    });
    let goods: Vec<_> = goods
        .filter_map(|good| restored(schedext, &good.spec))
        .collect();
    let runs = |revision: String| observed.pods.iter().any(|pod| pod.revision == revision);
    let parts = goods.iter().flat_map(parts);
    let parts = parts.filter(|part| runs(part.revision()));
    parts.map(|part| part.sched().to_owned()).collect()
}
