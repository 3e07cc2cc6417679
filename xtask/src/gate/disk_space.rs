//! Whether the disks that the gate writes to have room.

use std::path::{Path, PathBuf};

/// Less than this is no room: etcd and QEMU stop then.
const LEAST: u64 = 64 << 20;

/// The folder whose disk is full, if there is one: the labs' state, the checkout, or the target.
pub(super) fn full() -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folders = [".lab", "."].map(PathBuf::from).into_iter().chain(target);
    let mut folders = folders.filter_map(|folder| Some((available(&folder)?, folder)));
    folders
        .find(|(available, _)| *available < LEAST)
        .map(|(_, folder)| folder)
}

fn available(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}
