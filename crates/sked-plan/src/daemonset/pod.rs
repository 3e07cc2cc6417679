//! The pod spec of a scheduler.

use k8s_openapi::api::core::v1::{PodReadinessGate, PodSpec};
use sked_api::label;

use super::{affinity, container, volumes};
use crate::part::Part;

/// Twice the kernel's longest watchdog timeout, after which the kernel has ejected even a scheduler
/// that hangs.
const GRACE_SECONDS: i64 = 60;

/// The pod is privileged, so it gets nothing that it does not need: no service account token and no
/// service environment. It shares the host's PID namespace because schedulers exchange process ids
/// with the kernel, and the host's network, whose port excludes a second scheduler: so it needs no
/// network plugin and starts before that is ready.
pub(super) fn pod(part: &Part<'_>) -> PodSpec {
    let spec = &part.schedext.spec;
    let class = spec.priority_class_name.clone();
    PodSpec {
        affinity: Some(affinity::affinity(part)),
        automount_service_account_token: Some(false),
        containers: vec![container::container(part)],
        enable_service_links: Some(false),
        host_network: Some(true),
        host_pid: Some(true),
        image_pull_secrets: Some(spec.image_pull_secrets.clone()).filter(|all| !all.is_empty()),
        node_selector: Some(part.node_selector().clone()).filter(|all| !all.is_empty()),
        // A pod is ready when the kernel runs its scheduler. `kubectl rollout status`, disruption
        // budgets and the rolling update depend on it: an update stops at what does not attach.
        readiness_gates: Some(vec![PodReadinessGate {
            condition_type: label::ATTACHED_GATE.to_owned(),
        }]),
        priority_class_name: class.filter(|class| !class.is_empty()),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        tolerations: Some(spec.tolerations.clone()).filter(|all| !all.is_empty()),
        volumes: Some(volumes::volumes()),
        ..PodSpec::default()
    }
}
