//! The scheduler's container.

use k8s_openapi::api::core::v1::{Container, EnvVar, SecurityContext};
use sked_api::{PullPolicy, label};

use super::pod;
use crate::part::Part;

/// Privileged, for it loads BPF programs into the kernel. Whatever it says last ends up in the
/// pod's status, where the kernel's reason is read from.
pub(super) fn container(part: &Part<'_>) -> Container {
    let spec = &part.schedext.spec;
    Container {
        name: label::CONTAINER.to_owned(),
        image: Some(part.sched().to_owned()),
        image_pull_policy: spec.image_pull_policy.map(pull_policy),
        args: Some(part.args().to_vec()).filter(|args| !args.is_empty()),
        env: Some(env(part)).filter(|env| !env.is_empty()),
        resources: spec.resources.clone(),
        security_context: Some(SecurityContext {
            privileged: Some(true),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(pod::mounts()),
        ..Container::default()
    }
}

/// The user's variables, then the watchdog's time, which goes before one of the same name.
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
