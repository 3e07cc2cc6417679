//! What to do when a runtime is missing and this machine has only runtimes that schedctl does not
//! drive.

use schedkit_host::{HostRoot, other_runtimes};
use schedkit_runtime::DriverError;
use schedkit_runtime::driver::Runtime;

use crate::inventory::is_not_installed;
use crate::runtimes::default_socket;

/// The remedy that names them; `None` for every other error, and where the other runtime that
/// schedctl drives is installed.
pub(crate) fn remedy(error: &DriverError, root: &HostRoot) -> Option<String> {
    let drivable = [Runtime::Podman, Runtime::Containerd].map(default_socket);
    let is_there = |socket: &std::path::PathBuf| root.path(&socket.to_string_lossy()).exists();
    if !is_not_installed(error) || drivable.iter().any(is_there) {
        return None;
    }
    other_runtimes::remedy(&other_runtimes::read(root))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, ErrorKind};

    use super::*;

    #[test]
    fn docker_is_named_if_it_is_all_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = HostRoot::at(folder.path());
        let unreachable = |kind: ErrorKind| DriverError::Unreachable {
            runtime: Runtime::Podman,
            socket: "/s".into(),
            source: io::Error::from(kind),
        };
        let missing = unreachable(ErrorKind::NotFound);
        assert_eq!(remedy(&missing, &root), None);
        fs::create_dir_all(folder.path().join("run/containerd")).unwrap();
        fs::write(folder.path().join("run/docker.sock"), "").unwrap();
        let text = remedy(&missing, &root).unwrap();
        assert!(text.starts_with("Docker runs here"), "{text}");
        let denied = unreachable(ErrorKind::PermissionDenied);
        assert_eq!(remedy(&denied, &root), None);
        fs::write(folder.path().join("run/containerd/containerd.sock"), "").unwrap();
        assert_eq!(remedy(&missing, &root), None);
    }
}
