//! What a privileged container takes from its host: devices, capabilities, folders, the program
//! that runs it. Reads only; called by `create`.

mod capabilities;
mod devices;

use std::path::{Path, PathBuf};

pub(super) use devices::{Device, Kind};

use crate::driver::DriverError;
use crate::mounts::{self, Mount};

/// Where programs that run containers are; the same places as a daemon's own path.
const PROGRAMS: [&str; 6] = [
    "usr/local/sbin",
    "usr/local/bin",
    "usr/sbin",
    "usr/bin",
    "sbin",
    "bin",
];

/// What the host gives.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) capabilities: Vec<String>,
    pub(super) devices: Vec<Device>,
    pub(super) mounts: Vec<Mount>,
}

impl Host {
    /// Looks at the host whose `/` is `root`, and makes the folders that a scheduler needs.
    pub(super) fn prepare(root: &Path) -> Result<Self, DriverError> {
        Ok(Self {
            capabilities: capabilities::read(&root.join("proc/self/status")),
            devices: devices::read(&root.join("dev")),
            mounts: mounts::prepare(root)?,
        })
    }
}

/// The program that runs containers, where it is not the usual one.
pub(super) fn other_program(root: &Path) -> Option<PathBuf> {
    let find = |name: &str| {
        let places = PROGRAMS.iter().map(|folder| root.join(folder).join(name));
        places.into_iter().find(|place| place.is_file())
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
        assert_eq!(other_program(root.path()), None);
        let bin = root.path().join("usr/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("crun"), "").unwrap();
        assert_eq!(other_program(root.path()), Some(bin.join("crun")));
        std::fs::write(bin.join("runc"), "").unwrap();
        assert_eq!(other_program(root.path()), None);
    }
}
