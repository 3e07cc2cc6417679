//! What is to run, in the words of the OCI runtime specification. Pure; called by `create`.
//!
//! A scheduler is part of the kernel for as long as it is attached, so its container keeps
//! nothing from it: all capabilities and devices, no seccomp, no AppArmor, `/sys` and the cgroups
//! writable, the host's processes in sight. Its own are the namespaces for which it has no use:
//! with a network of its own, which has no way out, it can neither be reached nor call anybody,
//! and no CNI plugin is needed. Cgroups are the host's: schedulers that go by cgroup must see them
//! as they are.

use serde_json::{Value, json};

use super::host::{Device, Host, Kind};
use crate::mounts::{Access, Mount};

/// What a process is made of.
#[derive(Debug)]
pub(super) struct Process<'a> {
    pub(super) args: &'a [String],
    pub(super) env: &'a [String],
    pub(super) cwd: &'a str,
}

/// The specification of a container.
pub(super) fn spec(id: &str, process: &Process<'_>, host: &Host) -> Value {
    let mut mounts = usual_mounts();
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

fn usual_mounts() -> Vec<Value> {
    let mount = |place: &str, kind: &str, options: &[&str]| {
        let options = json!(options);
        json!({"destination": place, "type": kind, "source": kind, "options": options})
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
        // A file system that the host mounts there later is seen as well.
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
        Kind::Block => "b",
        Kind::Character => "c",
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
    fn the_specification_is_the_one_we_looked_at() {
        let host = Host {
            capabilities: vec!["CAP_SYS_ADMIN".to_owned(), "CAP_BPF".to_owned()],
            devices: vec![
                Device {
                    path: "/dev/null".into(),
                    kind: Kind::Character,
                    major: 1,
                    minor: 3,
                    mode: 0o666,
                    owner: (0, 0),
                },
                Device {
                    path: "/dev/mapper/x".into(),
                    kind: Kind::Block,
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
        let made = spec("schedkit-scx-1", &process, &host);
        let golden = include_str!("spec/golden.json");
        let golden: Value = serde_json::from_str(golden).unwrap();
        assert_eq!(
            made,
            golden,
            "{}",
            serde_json::to_string_pretty(&made).unwrap()
        );
    }
}
