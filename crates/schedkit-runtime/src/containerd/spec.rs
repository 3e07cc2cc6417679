//! The OCI runtime specification of a container. Pure; called by `create`.
//!
//! An attached scheduler is part of the kernel, so its container is not confined: all capabilities
//! and devices, no seccomp, no AppArmor, `/sys` and the cgroups writable, the host's PID namespace. It
//! has its own network namespace, without any connection, so that no CNI plugin is needed. Cgroups
//! are the host's, because some schedulers use them.

use serde_json::{Value, json};

use super::host::{Device, DeviceKind, Host};
use crate::mounts::{Access, Mount};

#[derive(Debug)]
pub(super) struct Process<'a> {
    pub(super) args: &'a [String],
    pub(super) env: &'a [String],
    pub(super) cwd: &'a str,
}

pub(super) fn spec(id: &str, process: &Process<'_>, host: &Host) -> Value {
    let mut mounts = default_mounts();
    mounts.extend(host.mounts.iter().map(bind));
    let devices: Vec<_> = host.devices.iter().map(device).collect();
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": process.args,
            "env": process.env,
            "cwd": process.cwd,
            "capabilities": {
                "bounding": host.capabilities,
                "effective": host.capabilities,
                "permitted": host.capabilities,
            },
            "noNewPrivileges": false,
        },
        "root": {"path": "rootfs"},
        "mounts": mounts,
        "linux": {
            "resources": {"devices": [{"allow": true, "access": "rwm"}]},
            "cgroupsPath": format!("/schedkit/{id}"),
            "namespaces": [
                {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"},
            ],
            "devices": devices,
        },
    })
}

fn default_mounts() -> Vec<Value> {
    let mount = |path: &str, kind: &str, options: &[&str]| {
        let options = json!(options);
        json!({"destination": path, "type": kind, "source": kind, "options": options})
    };
    vec![
        mount("/proc", "proc", &["nosuid", "noexec", "nodev"]),
        mount(
            "/dev",
            "tmpfs",
            &["nosuid", "strictatime", "mode=755", "size=65536k"],
        ),
        mount(
            "/dev/pts",
            "devpts",
            &[
                "nosuid",
                "noexec",
                "newinstance",
                "ptmxmode=0666",
                "mode=0620",
                "gid=5",
            ],
        ),
        mount(
            "/dev/shm",
            "tmpfs",
            &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
        ),
        mount("/dev/mqueue", "mqueue", &["nosuid", "noexec", "nodev"]),
        mount("/sys", "sysfs", &["nosuid", "noexec", "nodev", "rw"]),
        mount(
            "/sys/fs/cgroup",
            "cgroup",
            &["nosuid", "noexec", "nodev", "relatime", "rw"],
        ),
    ]
}

fn bind(mount: &Mount) -> Value {
    let access = match mount.access {
        Access::ReadOnly => "ro",
        Access::ReadWrite => "rw",
    };
    json!({
        "destination": mount.path,
        "type": "bind",
        "source": mount.path,
        // File systems that the host mounts there later are visible, too.
        "options": ["rbind", "rslave", access],
    })
}

fn device(device: &Device) -> Value {
    let Device {
        path,
        kind,
        major,
        minor,
        mode,
        owner: (uid, gid),
    } = device;
    let kind = match kind {
        DeviceKind::Block => "b",
        DeviceKind::Character => "c",
    };
    json!({
        "path": path, "type": kind, "major": major, "minor": minor,
        "fileMode": mode, "uid": uid, "gid": gid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_equals_the_golden_file() {
        let host = Host {
            capabilities: vec!["CAP_SYS_ADMIN".to_owned(), "CAP_BPF".to_owned()],
            devices: vec![
                Device {
                    path: "/dev/null".into(),
                    kind: DeviceKind::Character,
                    major: 1,
                    minor: 3,
                    mode: 0o666,
                    owner: (0, 0),
                },
                Device {
                    path: "/dev/mapper/x".into(),
                    kind: DeviceKind::Block,
                    major: 253,
                    minor: 0,
                    mode: 0o660,
                    owner: (0, 6),
                },
            ],
            mounts: vec![
                Mount {
                    path: "/var/run/scx",
                    access: Access::ReadWrite,
                },
                Mount {
                    path: "/boot",
                    access: Access::ReadOnly,
                },
            ],
        };
        let process = Process {
            args: &["/scx".to_owned(), "a b".to_owned(), "c\nd".to_owned()],
            env: &["PATH=/".to_owned()],
            cwd: "/work",
        };
        let actual = spec("schedkit-scx-1", &process, &host);
        let golden = include_str!("spec/golden.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        assert_eq!(
            actual,
            golden,
            "{}",
            serde_json::to_string_pretty(&actual).unwrap()
        );
    }
}
