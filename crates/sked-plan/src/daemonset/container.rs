//! The scheduler's container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, ResourceRequirements, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use sked_api::{PullPolicy, label};

use super::volumes;
use crate::part::Part;

/// Privileged, because it loads BPF programs. Its final output ends up in the pod's status, from
/// which sked reads the kernel's exit reason.
pub(super) fn container(part: &Part<'_>) -> Container {
    let spec = &part.schedext.spec;
    Container {
        name: label::CONTAINER.to_owned(),
        image: Some(part.sched().to_owned()),
        image_pull_policy: spec.image_pull_policy.map(pull_policy),
        args: Some(part.args().to_vec()).filter(|args| !args.is_empty()),
        env: Some(env(part)).filter(|env| !env.is_empty()),
        ports: Some(vec![one_scheduler_per_node()]),
        resources: Some(spec.resources.clone().unwrap_or_else(default_resources)),
        security_context: Some(SecurityContext {
            privileged: Some(true),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(volumes::mounts()),
        ..Container::default()
    }
}

/// Two pods that claim the same port of the host cannot be on one node, whoever created them: both
/// kube-scheduler and kubelet see to it. Needed until the owner label is written. Nothing binds it.
fn one_scheduler_per_node() -> ContainerPort {
    ContainerPort {
        name: Some("one-per-node".to_owned()),
        container_port: label::EXCLUSION_PORT,
        host_port: Some(label::EXCLUSION_PORT),
        protocol: Some("UDP".to_owned()),
        host_ip: None,
    }
}

/// A pod without requests is the first that kubelet evicts and that the kernel kills when memory
/// runs out. There is no limit: a scheduler that is throttled stalls the machine.
fn default_resources() -> ResourceRequirements {
    let request = |name: &str, quantity: &str| (name.to_owned(), Quantity(quantity.to_owned()));
    let requests = [request("cpu", "10m"), request("memory", "128Mi")];
    ResourceRequirements {
        requests: Some(BTreeMap::from(requests)),
        ..ResourceRequirements::default()
    }
}

/// The user's variables, and the watchdog timeout, which replaces a variable of the same name.
fn env(part: &Part<'_>) -> Vec<EnvVar> {
    const TIMEOUT: &str = "SCX_TIMEOUT_MS";
    let timeout = part.watchdog().ok().flatten();
    let own = part.env().iter();
    let own = own.filter(|own| timeout.is_none() || own.name != TIMEOUT);
    let variable = |name: &str, value: String| EnvVar {
        name: name.to_owned(),
        value: Some(value).filter(|value| !value.is_empty()),
        value_from: None,
    };
    own.map(|own| variable(&own.name, own.value.clone()))
        .chain(timeout.map(|timeout| variable(TIMEOUT, timeout.as_millis().to_string())))
        .collect()
}

fn pull_policy(policy: PullPolicy) -> String {
    match policy {
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Always => "Always",
        PullPolicy::Never => "Never",
    }
    .to_owned()
}
