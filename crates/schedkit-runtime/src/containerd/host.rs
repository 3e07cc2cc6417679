//! What a privileged container gets from its host: devices, capabilities, folders, the OCI runtime.
//! Called by `create`.

mod capabilities;
mod devices;

use std::path::{Path, PathBuf};

pub(super) use devices::{Device, DeviceKind};

use crate::driver::DriverError;
use crate::mounts::{self, Mount};

/// The default `PATH` of a daemon.
const PROGRAM_FOLDERS: [&str; 6] = [
    "usr/local/sbin",
    "usr/local/bin",
    "usr/sbin",
    "usr/bin",
    "sbin",
    "bin",
];

#[derive(Debug)]
pub(super) struct Host {
    pub(super) capabilities: Vec<String>,
    pub(super) devices: Vec<Device>,
    pub(super) mounts: Vec<Mount>,
}

impl Host {
    /// Reads the host whose `/` is `root`, and creates the folders that a scheduler needs.
    pub(super) fn prepare(root: &Path) -> Result<Self, DriverError> {
        Ok(Self {
            capabilities: capabilities::read(&root.join("proc/self/status")),
            devices: devices::read(&root.join("dev")),
            mounts: mounts::prepare(root)?,
        })
    }
}

/// crun, where there is no runc.
pub(super) fn alternative_runtime(root: &Path) -> Option<PathBuf> {
    let find = |name: &str| {
        let paths = PROGRAM_FOLDERS
            .iter()
            .map(|folder| root.join(folder).join(name));
        paths.into_iter().find(|path| path.is_file())
    };
    match find("runc") {
        Some(_) => None,
        None => find("crun"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crun_is_named_only_where_there_is_no_runc() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(alternative_runtime(root.path()), None);
        let bin = root.path().join("usr/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("crun"), "").unwrap();
        assert_eq!(alternative_runtime(root.path()), Some(bin.join("crun")));
        std::fs::write(bin.join("runc"), "").unwrap();
        assert_eq!(alternative_runtime(root.path()), None);
    }
}
