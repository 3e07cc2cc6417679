//! The machine as the scheduler sees it, and the paths of it that a scheduler needs.

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, PodReadinessGate, PodSpec, Volume, VolumeMount,
};
use sked_api::label;

use super::{affinity, container};
use crate::part::Part;

/// Time to let go of the kernel: twice the kernel's longest watchdog, after which even a
/// scheduler that hangs has been thrown out.
const GRACE_SECONDS: i64 = 60;

/// Where libbpf looks for the kernel's configuration, which most schedulers cannot load without.
const BOOT: &str = "/boot";
/// Where schedulers open the sockets by which they are asked how they fare.
const SOCKETS: &str = "/var/run/scx";

/// The pod. It is privileged, so it is given nothing that it does not need: no token of the
/// cluster, no list of its services. The host's process ids are what the kernel speaks in.
pub(super) fn pod(part: &Part<'_>) -> PodSpec {
    let spec = &part.schedext.spec;
    let class = spec.priority_class_name.clone();
    PodSpec {
        affinity: Some(affinity::affinity(part)),
        automount_service_account_token: Some(false),
        containers: vec![container::container(part)],
        enable_service_links: Some(false),
        host_pid: Some(true),
        image_pull_secrets: Some(spec.image_pull_secrets.clone()).filter(|all| !all.is_empty()),
        node_selector: Some(part.node_selector().clone()).filter(|all| !all.is_empty()),
        // Ready is what the kernel says, for everybody who looks: kubectl rollout status, a
        // disruption budget, and the rolling update itself, which stops at what does not attach.
        readiness_gates: Some(vec![PodReadinessGate {
            condition_type: label::ATTACHED_GATE.to_owned(),
        }]),
        priority_class_name: class.filter(|class| !class.is_empty()),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        tolerations: Some(spec.tolerations.clone()).filter(|all| !all.is_empty()),
        volumes: Some(vec![
            // A machine whose kernel carries its configuration may have no /boot: nothing is
            // asked of it.
            volume("boot", BOOT, None),
            volume("scx", SOCKETS, Some("DirectoryOrCreate")),
        ]),
        ..PodSpec::default()
    }
}

/// Where the container sees them: at the same paths.
pub(super) fn mounts() -> Vec<VolumeMount> {
    let mount = |name: &str, path: &str, read_only| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only,
        ..VolumeMount::default()
    };
    vec![mount("boot", BOOT, Some(true)), mount("scx", SOCKETS, None)]
}

fn volume(name: &str, path: &str, type_: Option<&str>) -> Volume {
    Volume {
        name: name.to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: type_.map(str::to_owned),
        }),
        ..Volume::default()
    }
}
