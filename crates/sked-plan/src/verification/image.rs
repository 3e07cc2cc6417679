//! The images that a spec names.

use std::collections::BTreeSet;

use schedkit_core::ImageRef;
use serde_json::{Map, Value};
use sked_api::SchedExt;

use crate::part::parts;

/// The images of a SchedExt, each once.
pub fn images(schedext: &SchedExt) -> BTreeSet<&str> {
    parts(schedext).map(|part| part.sched()).collect()
}

/// The images in the fields of a spec that make a revision.
pub(crate) fn images_in(spec: &Map<String, Value>) -> Vec<&str> {
    let pools = spec.get("pools").and_then(Value::as_array);
    let pools = pools.into_iter().flatten();
    let pools = pools.filter_map(|pool| pool["sched"].as_str());
    let base = spec.get("sched").and_then(Value::as_str);
    base.into_iter().chain(pools).collect()
}

/// Whether an image is named by its digest.
pub fn is_pinned(image: &str) -> bool {
    let parsed = image.parse::<ImageRef>();
    parsed.is_ok_and(|image| image.digest().is_some())
}
