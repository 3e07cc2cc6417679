//! Which folders of the host a scheduler sees, at the same place. Called by the drivers.

use std::fs;
use std::path::Path;

use crate::driver::DriverError;

/// Where schedulers keep the sockets of their statistics.
const SCX: &str = "/var/run/scx";
/// Shown where the host has them: the kernel's configuration for libbpf on systems without
/// `/proc/config.gz`, and file systems that a new `/sys` lacks: libbpf pins into the first and looks
/// up tracepoints in the second.
const IF_THERE: [(&str, Access); 3] = [
    ("/boot", Access::ReadOnly),
    ("/sys/fs/bpf", Access::ReadWrite),
    ("/sys/kernel/tracing", Access::ReadWrite),
];

/// One folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// On the host and in the container.
    pub(crate) path: &'static str,
    /// What the scheduler may do there.
    pub(crate) access: Access,
}

/// What may be done in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    ReadWrite,
}

/// The folders, made where they may be missing. `root` is the host's `/`.
pub(crate) fn prepare(root: &Path) -> Result<Vec<Mount>, DriverError> {
    let on_host = |path: &str| root.join(path.trim_start_matches('/'));
    let scx = on_host(SCX);
    fs::create_dir_all(&scx).map_err(|source| DriverError::Folder { path: scx, source })?;
    let mut mounts = vec![Mount {
        path: SCX,
        access: Access::ReadWrite,
    }];
    let there = |(path, _): &(&str, Access)| on_host(path).is_dir();
    let shown = IF_THERE.into_iter().filter(there);
    mounts.extend(shown.map(|(path, access)| Mount { path, access }));
    Ok(mounts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_is_shown_where_there_is_one() {
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
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("var"), "").unwrap();
        let said = prepare(root.path()).unwrap_err().to_string();
        let path = root.path().join("var/run/scx");
        let expected = format!("cannot make {} for the scheduler", path.display());
        assert_eq!(said, expected);
    }
}
