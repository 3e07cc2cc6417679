//! DaemonSets as sked wants them: from what a user asked for, and from nothing else.
//!
//! ```text
//! daemonset ─ labels     who made it, what it selects by, who controls it
//!           ─ strategy   how a change reaches the nodes
//!           ─ pod        the machine as the scheduler sees it
//!               ─ affinity    which nodes; one scheduler on each
//!               ─ container   the scheduler
//! ```
//!
//! Neither the operator's version nor a rival nor another pool goes into a template: an upgrade
//! or a neighbour restarts no scheduler.
//!
//! A DaemonSet that the former operator, written in Go, made has the same name, selector and
//! controller, so it is taken over as it stands. Its template lacks what schedulers need in order
//! to attach (the host's processes, `/boot`), so its pods are replaced once, a few at a time, by
//! the DaemonSet controller's rolling update. A DaemonSet whose template says the same already,
//! and of which only a label or the strategy differs, is put right without touching a pod.

mod affinity;
mod container;
mod labels;
mod overlay;
mod pod;
mod strategy;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::part::Part;

pub use overlay::overlay;

/// The DaemonSet that a part asks for.
pub fn daemonset(part: &Part<'_>) -> DaemonSet {
    DaemonSet {
        metadata: labels::metadata(part),
        spec: Some(DaemonSetSpec {
            selector: labels::selector(part),
            template: PodTemplateSpec {
                metadata: Some(labels::of_pods(part)),
                spec: Some(pod::pod(part)),
            },
            update_strategy: Some(strategy::strategy(part)),
            ..DaemonSetSpec::default()
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests;
