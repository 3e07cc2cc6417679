//! A node's virtual machine: QEMU with a kernel, four disks, a serial console and a tap.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::disk::{self, DiskError, ROOT_PARTITION};
use crate::init::Init;
use crate::network::tap;
use crate::node_config::NodeIdentity;
use crate::parts::NodeParts;
use crate::service::{Service, ServiceError};
use crate::spec::LabSpec;
use crate::ssh::{self, Keys, Route};
use crate::state::State;

const MEMORY: &str = "3G";

/// An old processor model, without ADX, BMI, AVX and five-level paging, which nothing here needs.
/// With `max`, guests of QEMU 7.2 had a corrupt flags register in about one of fifty attachments (a
/// double fault with a pointer in EFLAGS). The instruction that causes it is not known, nor whether a
/// newer QEMU is affected, hence `lab/on-emulated-nodes`.
const PROCESSOR: &str = "Nehalem";

/// An emulated node boots in 10 s on an idle machine, with systemd in 25; on a busy one that takes
/// minutes.
const BOOT_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, thiserror::Error)]
pub enum VmError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("the kernel of {node} panicked: {line}; the rest is in {log}")]
    Panicked {
        node: String,
        line: String,
        log: PathBuf,
    },
    #[error("cannot start the thread that holds the ssh connection to a node")]
    Io(#[from] io::Error),
}

pub fn start(
    state: &State,
    node: &NodeIdentity,
    parts: &NodeParts,
    spec: &LabSpec,
) -> Result<Service, VmError> {
    let mut qemu = parts.qemu.command();
    // QEMU keeps what a node writes to a `Disk::Pristine` in unlinked files there, so nothing is left
    // when it ends.
    qemu.current_dir(state.folder())
        .env("TMPDIR", state.folder());
    qemu.args(["-nodefaults", "-display", "none", "-machine", "q35"]);
    qemu.args(["-cpu", PROCESSOR, "-m", MEMORY]);
    qemu.arg("-smp").arg(spec.processors.to_string());
    qemu.arg("-accel").arg(&spec.accelerator);
    qemu.arg("-kernel")
        .arg(&parts.kernel.image)
        .arg("-append")
        .arg(kernel_command_line());
    let config = state.path(&format!("{}.config", node.name));
    let kubelet = parts.kubelet_disk.as_ref().unwrap_or(&config);
    let root = root_disk(state, node, parts, spec.init)?;
    let pristine = [&parts.kernel.disk, kubelet, &config].map(|file| Disk::Pristine(file.clone()));
    let [kernel, kubelet, config] = pristine;
    add_disks(&mut qemu, &[root, kernel, kubelet, config]);
    add_network(&mut qemu, node.number);
    add_serial_ports(&mut qemu, &node.name);
    qemu.args(["-device", "virtio-rng-pci"]);
    Ok(Service::start(&node.name, qemu, state.log(&node.name))?)
}

/// A file that QEMU shows to a node as a disk.
enum Disk {
    /// What the node writes is gone when QEMU ends.
    Pristine(PathBuf),
    /// What the node writes is in the file, also after QEMU was killed: what was in the node's memory
    /// only is lost, as in a power cut.
    Written(PathBuf),
}

fn root_disk(
    state: &State,
    node: &NodeIdentity,
    parts: &NodeParts,
    init: Init,
) -> Result<Disk, VmError> {
    match init {
        Init::Lab => Ok(Disk::Pristine(parts.root_disk.clone())),
        Init::Systemd => {
            let own = state.path(&format!("{}.disk", node.name));
            disk::copy(&parts.root_disk, &own)?;
            Ok(Disk::Written(own))
        }
    }
}

/// Disks on one NVMe controller; `guest/init` finds them by their namespace id, counted from one.
fn add_disks(qemu: &mut Command, disks: &[Disk; 4]) {
    qemu.args(["-device", "nvme,serial=lab"]);
    for (index, disk) in disks.iter().enumerate() {
        let number = index + 1;
        let (file, snapshot) = match disk {
            Disk::Pristine(file) => (file.display(), "on"),
            Disk::Written(file) => (file.display(), "off"),
        };
        qemu.arg("-drive").arg(format!(
            "if=none,id=disk{number},format=raw,snapshot={snapshot},file={file}"
        ));
        qemu.arg("-device")
            .arg(format!("nvme-ns,drive=disk{number},nsid={number}"));
    }
}

fn add_network(qemu: &mut Command, number: u8) {
    qemu.arg("-netdev").arg(format!(
        "tap,id=net,ifname={},script=no,downscript=no",
        tap(number)
    ));
    qemu.arg("-device").arg(format!(
        "virtio-net-pci,netdev=net,romfile=,mac=52:54:00:77:00:{number:02x}"
    ));
}

/// The console, whose output is also the node's log, and the line for ssh without a network.
fn add_serial_ports(qemu: &mut Command, name: &str) {
    qemu.arg("-chardev").arg(format!(
        "socket,id=console,path={name}.console,server=on,wait=off,logfile=logs/{name}.log,logappend=on"
    ));
    qemu.args(["-serial", "chardev:console"]);
    qemu.arg("-chardev").arg(format!(
        "socket,id=line,path={name}.line,server=on,wait=off"
    ));
    qemu.args(["-device", "virtio-serial-pci"]);
    qemu.args(["-device", "virtserialport,chardev=line,name=lab"]);
}

/// The first process finds the disk with the configuration, which may appear a moment after the
/// root's, unpacks it and executes the init in there. A panic stops the guest without a reboot, so that its
/// messages stay on the console. The kernel parses the quoted script itself, and would take an `=`
/// in it for an assignment.
fn kernel_command_line() -> String {
    let script = "mount -t devtmpfs dev /dev; mount -t sysfs sys /sys; \
                  until set -- $(grep -slx 4 /sys/block/nvme0n*/nsid) && [ $# -gt 0 ] \
                  && tar -xf /dev/$(basename $(dirname $1)) -C /; do sleep 0.1; done; exec /etc/lab/init";
    format!(
        "root={ROOT_PARTITION} rootwait rw console=ttyS0 quiet panic=0 mitigations=off init=/bin/sh -- -c \"{script}\""
    )
}

/// Opens the ssh connection to a node, waits until it is open, and keeps it open from then on.
pub fn wait_for_ssh(
    state: &State,
    node: &NodeIdentity,
    keys: &Keys,
    route: Route,
    vm: &mut Service,
) -> Result<(), VmError> {
    hold_connection(state.clone(), node.clone(), keys.clone(), route)?;
    let mut panicked = None;
    vm.wait_until(BOOT_TIMEOUT, || {
        panicked = panic_line(&std::fs::read(state.log(&node.name)).unwrap_or_default());
        panicked.is_some() || ssh::is_open(state, &node.name)
    })?;
    match panicked {
        Some(line) => Err(VmError::Panicked {
            node: node.name.clone(),
            line,
            log: state.log(&node.name),
        }),
        None => Ok(()),
    }
}

/// Opens the connection again whenever it breaks: a node may be rebooted.
fn hold_connection(state: State, node: NodeIdentity, keys: Keys, route: Route) -> io::Result<()> {
    std::thread::Builder::new()
        .name(format!("ssh {}", node.name))
        .spawn(move || {
            loop {
                let ssh = keys.hold(&state, &node.name, node.ip, route);
                let log = state.log(&format!("{}-ssh", node.name));
                if let Ok(mut held) = Service::start("ssh", ssh, log) {
                    while held.exited().is_none() {
                        std::thread::sleep(Duration::from_millis(250));
                    }
                }
                let _ = std::fs::remove_file(state.path(&format!("{}.ssh", node.name)));
                std::thread::sleep(Duration::from_millis(500));
            }
        })?;
    Ok(())
}

fn panic_line(console: &[u8]) -> Option<String> {
    String::from_utf8_lossy(console)
        .lines()
        .find(|line| line.contains("Kernel panic - not syncing"))
        .map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_found_in_any_console() {
        let console =
            b"\x1b[0m[    1.0] sh: \xff\n[    3.9] Kernel panic - not syncing: VFS: no root\r\n";
        assert_eq!(
            panic_line(console).as_deref(),
            Some("[    3.9] Kernel panic - not syncing: VFS: no root")
        );
        assert_eq!(panic_line(b"lab: node1 is up\n"), None);
    }
}
