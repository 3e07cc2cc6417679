//! The host's device nodes, which a privileged container gets when it is created.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// More than any host has.
const MAX_DEVICES: usize = 4096;
const MAX_DEPTH: usize = 4;
/// A container has its own.
const OWN: [&str; 5] = ["pts", "shm", "mqueue", "fd", "console"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::containerd) struct Device {
    /// In the container, below `/dev`.
    pub(in crate::containerd) path: PathBuf,
    pub(in crate::containerd) kind: DeviceKind,
    pub(in crate::containerd) major: u32,
    pub(in crate::containerd) minor: u32,
    /// Permission bits.
    pub(in crate::containerd) mode: u32,
    pub(in crate::containerd) owner: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::containerd) enum DeviceKind {
    Block,
    Character,
}

/// All below a folder, sorted by path.
pub(super) fn read(dev: &Path) -> Vec<Device> {
    let mut devices = Vec::new();
    walk(dev, dev, MAX_DEPTH, &mut devices);
    devices.sort_by(|one, other| one.path.cmp(&other.path));
    devices
}

fn walk(dev: &Path, folder: &Path, deeper: usize, devices: &mut Vec<Device>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let own = folder == dev && OWN.iter().any(|name| entry.file_name() == *name);
        let (false, Ok(metadata)) = (own, entry.metadata()) else {
            continue;
        };
        if metadata.is_dir() && deeper > 0 {
            walk(dev, &entry.path(), deeper - 1, devices);
        } else if devices.len() < MAX_DEVICES {
            devices.extend(device(dev, &entry.path(), &metadata));
        }
    }
}

fn device(dev: &Path, path: &Path, metadata: &Metadata) -> Option<Device> {
    let kind = match metadata.file_type() {
        kind if kind.is_block_device() => DeviceKind::Block,
        kind if kind.is_char_device() => DeviceKind::Character,
        _ => return None,
    };
    Some(Device {
        path: Path::new("/dev").join(path.strip_prefix(dev).ok()?),
        kind,
        major: major(metadata.rdev()),
        minor: minor(metadata.rdev()),
        mode: metadata.mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_null_device() {
        let devices = read(Path::new("/dev"));
        let null = devices
            .iter()
            .find(|device| device.path == Path::new("/dev/null"));
        let null = null.unwrap();
        assert_eq!(
            (null.kind, null.major, null.minor),
            (DeviceKind::Character, 1, 3)
        );
        assert!(
            !devices
                .iter()
                .any(|device| device.path.starts_with("/dev/pts"))
        );
    }

    #[test]
    fn files_and_folders_are_no_devices() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(read(folder.path()).is_empty());
        assert!(read(&folder.path().join("absent")).is_empty());
    }
}
