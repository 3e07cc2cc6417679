//! What the configuration of a node has for systemd: the lab's units, and links that enable and mask
//! others. The node has neither udev nor D-Bus, and no log-ins but ssh's.

use std::io;

use crate::config_archive::ConfigArchive;

const UNITS: &str = "etc/systemd/system";

/// Units that fail without D-Bus, wait for devices that udev would announce, or do what no lab needs
/// and an emulated processor does slowly.
const MASKED: [&str; 15] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "fstrim.timer",
    "systemd-tmpfiles-clean.timer",
    "getty.target",
    "serial-getty@ttyS0.service",
    "ssh.service",
    "systemd-logind.service",
    "netavark-dhcp-proxy.service",
    "netavark-dhcp-proxy.socket",
    "ldconfig.service",
    "systemd-journal-catalog-update.service",
    "systemd-firstboot.service",
    "systemd-pstore.service",
];

/// They take time at every boot and `daemon-reload`, and make nothing of what a node has.
const MASKED_GENERATORS: [&str; 2] = ["podman-system-generator", "systemd-ssh-generator"];

pub(crate) fn add(archive: &mut ConfigArchive, number: u8) -> io::Result<()> {
    // With an empty one systemd takes every boot for the first and resets which units are enabled.
    archive.file("etc/machine-id", &format!("{number:032x}\n"))?;
    archive.file(
        "etc/tmpfiles.d/lab.conf",
        include_str!("../guest/systemd/tmpfiles.conf"),
    )?;
    for (unit, text) in [
        (
            "lab-sshd.service",
            include_str!("../guest/systemd/lab-sshd.service"),
        ),
        (
            "lab-console.service",
            include_str!("../guest/systemd/lab-console.service"),
        ),
    ] {
        archive.file(&format!("{UNITS}/{unit}"), text)?;
        archive.link(
            &format!("{UNITS}/sysinit.target.wants/{unit}"),
            &format!("/{UNITS}/{unit}"),
        )?;
    }
    archive.link(
        &format!("{UNITS}/sockets.target.wants/podman.socket"),
        "/usr/lib/systemd/system/podman.socket",
    )?;
    for daemon in ["containerd", "podman"] {
        archive.file(
            &format!("{UNITS}/{daemon}.service.d/lab.conf"),
            include_str!("../guest/systemd/go-daemon.conf"),
        )?;
    }
    for unit in MASKED {
        archive.link(&format!("{UNITS}/{unit}"), "/dev/null")?;
    }
    for generator in MASKED_GENERATORS {
        archive.link(
            &format!("etc/systemd/system-generators/{generator}"),
            "/dev/null",
        )?;
    }
    Ok(())
}
