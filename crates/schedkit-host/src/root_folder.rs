//! The root folder of the machine that is read: `/`, or a folder of a test.

use std::path::{Path, PathBuf};

/// The folder under which `/proc`, `/sys` and `/boot` of a machine are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoot(PathBuf);

impl HostRoot {
    pub fn system() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A machine whose files are below this folder. An absolute symbolic link in it leads out of it.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The location of a path of the machine, given with or without a leading `/`.
    pub fn path(&self, on_the_machine: &str) -> PathBuf {
        self.0.join(on_the_machine.trim_start_matches('/'))
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Default for HostRoot {
    fn default() -> Self {
        Self::system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_machine_stays_under_its_root() {
        let root = HostRoot::at("/machines/one");
        assert_eq!(
            root.path("/proc/cmdline"),
            Path::new("/machines/one/proc/cmdline")
        );
        assert_eq!(
            HostRoot::default().path("/proc/cmdline"),
            Path::new("/proc/cmdline")
        );
    }
}
