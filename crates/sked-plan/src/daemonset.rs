//! Renders the DaemonSet of a part. The template depends on the SchedExt alone; the update strategy
//! also on the state of its roll-out.
//!
//! ```text
//! daemonset ─ labels     labels, selector, owner reference
//!           ─ strategy   rolling update
//!           ─ pod        host access, volumes, readiness gate
//!               ─ affinity    which nodes; one scheduler on each
//!               ─ container   the scheduler
//! ```
//!
//! Neither sked's version nor other SchedExts nor other pools influence a template, so neither an
//! upgrade nor a new SchedExt restarts a scheduler.
//!
//! DaemonSets of the former operator, written in Go, have the same name, selector and controller,
//! so sked adopts them. Their templates lack what schedulers need in order to attach (the host PID
//! namespace, `/boot`), so the DaemonSet controller replaces their pods once, in a rolling update.
//! If only a label or the strategy differs, no pod is replaced.

mod affinity;
mod container;
mod labels;
mod overlay;
mod pod;
mod strategy;
mod volumes;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::part::Part;

pub use overlay::overlay;
pub use strategy::Update;

/// As it is while nothing is wrong.
pub fn daemonset(part: &Part<'_>) -> DaemonSet {
    with_update(part, &Update::default())
}

pub fn with_update(part: &Part<'_>, update: &Update) -> DaemonSet {
    DaemonSet {
        metadata: labels::metadata(part),
        spec: Some(DaemonSetSpec {
            selector: labels::selector(part),
            template: PodTemplateSpec {
                metadata: Some(labels::of_pods(part)),
                spec: Some(pod::pod(part)),
            },
            update_strategy: Some(strategy::strategy(part, update)),
            min_ready_seconds: strategy::min_ready_seconds(part, update),
            ..DaemonSetSpec::default()
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests;
