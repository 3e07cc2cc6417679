//! The host paths that a scheduler needs.

use k8s_openapi::api::core::v1::{HostPathVolumeSource, Volume, VolumeMount};

/// Where libbpf looks for the kernel's configuration, without which most schedulers cannot load.
const BOOT: &str = "/boot";
/// Where schedulers open the sockets that serve their statistics.
const SOCKETS: &str = "/var/run/scx";
/// Has tracefs and debugfs where the host mounted them; a container's own sysfs has not, and some
/// schedulers (scx_lavd) do not start without. Unlike the two it exists on every node.
const KERNEL: &str = "/sys/kernel";

/// `/boot` may be missing on a machine whose kernel contains its configuration, so its existence
/// is not checked.
pub(super) fn volumes() -> Vec<Volume> {
    vec![
        volume("boot", BOOT, None),
        volume("scx", SOCKETS, Some("DirectoryOrCreate")),
        volume("sys-kernel", KERNEL, None),
    ]
}

/// The container sees them at the same paths.
pub(super) fn mounts() -> Vec<VolumeMount> {
    let mount = |name: &str, path: &str, read_only| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only,
        ..VolumeMount::default()
    };
    vec![
        mount("boot", BOOT, Some(true)),
        mount("scx", SOCKETS, None),
        mount("sys-kernel", KERNEL, None),
    ]
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
