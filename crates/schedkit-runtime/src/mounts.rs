//! The folders of the host that are mounted into a container, at the same path. Used by both drivers.

use std::fs;
use std::path::Path;

use crate::driver::DriverError;

/// Sockets for the statistics of schedulers.
const SCX: &str = "/var/run/scx";
/// Mounted where the host has them: the kernel's configuration for libbpf on systems without
/// `/proc/config.gz`, and three file systems that a new `/sys` lacks: libbpf pins objects in the first
/// and reads tracepoints in the second, and schedulers read the energy model in the third (scx_lavd
/// panics without the last two).
const IF_PRESENT: [(&str, Access); 4] = [
    ("/boot", Access::ReadOnly),
    ("/sys/fs/bpf", Access::ReadWrite),
    ("/sys/kernel/tracing", Access::ReadWrite),
    ("/sys/kernel/debug", Access::ReadWrite),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// On the host and in the container.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    ReadWrite,
}

/// Lists the folders and creates `/var/run/scx` if it is missing. `root` is the host's `/`.
pub(crate) fn prepare(root: &Path) -> Result<Vec<Mount>, DriverError> {
    let on_host = |path: &str| root.join(path.trim_start_matches('/'));
    let scx = on_host(SCX);
    fs::create_dir_all(&scx).map_err(|source| DriverError::Folder { path: scx, source })?;
    let mut mounts = vec![Mount {
        path: SCX,
        access: Access::ReadWrite,
    }];
    let is_present = |(path, _): &(&str, Access)| on_host(path).is_dir();
    let present = IF_PRESENT.into_iter().filter(is_present);
    mounts.extend(present.map(|(path, access)| Mount { path, access }));
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_folders_are_mounted() {
        let root = tempfile::tempdir().unwrap();
        let paths = || {
            let mounts = prepare(root.path()).unwrap();
            mounts.iter().map(|mount| mount.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(), ["/var/run/scx"]);
        assert!(root.path().join("var/run/scx").is_dir());
        fs::create_dir(root.path().join("boot")).unwrap();
        assert_eq!(paths(), ["/var/run/scx", "/boot"]);
        fs::create_dir_all(root.path().join("sys/fs/bpf")).unwrap();
        assert_eq!(paths(), ["/var/run/scx", "/boot", "/sys/fs/bpf"]);
        for path in ["sys/kernel/tracing", "sys/kernel/debug"] {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        assert_eq!(paths()[3..], ["/sys/kernel/tracing", "/sys/kernel/debug"]);
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("var"), "").unwrap();
        let error = prepare(root.path()).unwrap_err().to_string();
        let path = root.path().join("var/run/scx");
        let expected = format!("cannot make {} for the scheduler", path.display());
        assert_eq!(error, expected);
    }
}
