//! Container runtimes on this machine that schedctl does not drive, found by their sockets.

use serde::Serialize;

use crate::root_folder::HostRoot;

const SOCKETS: &[(&str, OtherRuntime)] = &[
    ("/run/docker.sock", OtherRuntime::Docker),
    ("/run/crio/crio.sock", OtherRuntime::CriO),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OtherRuntime {
    Docker,
    CriO,
}

/// Those whose socket exists.
pub fn read(root: &HostRoot) -> Vec<OtherRuntime> {
    let exists = |(path, _): &&(&str, OtherRuntime)| root.path(path).exists();
    let found = SOCKETS.iter().filter(exists);
    found.map(|(_, runtime)| *runtime).collect()
}

/// A sentence that names them and what to install instead; `None` if there are none.
pub fn remedy(found: &[OtherRuntime]) -> Option<String> {
    let names: Vec<&str> = found.iter().map(|runtime| runtime.name()).collect();
    let verb = match names.as_slice() {
        [] => return None,
        [_] => "runs",
        _ => "run",
    };
    Some(format!(
        "{} {verb} here, which schedctl does not drive: install Podman and run `systemctl enable \
         --now podman.socket`, or install containerd and use `--driver containerd`",
        names.join(" and ")
    ))
}

impl OtherRuntime {
    fn name(self) -> &'static str {
        match self {
            Self::Docker => "Docker",
            Self::CriO => "CRI-O",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn runtimes_that_are_not_driven_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = HostRoot::at(folder.path());
        assert_eq!(remedy(&read(&root)), None);
        fs::create_dir_all(folder.path().join("run/crio")).unwrap();
        fs::write(folder.path().join("run/docker.sock"), "").unwrap();
        let docker = remedy(&read(&root)).unwrap();
        assert!(
            docker.starts_with("Docker runs here, which schedctl does not drive: install Podman"),
            "{docker}"
        );
        fs::write(folder.path().join("run/crio/crio.sock"), "").unwrap();
        let both = remedy(&read(&root)).unwrap();
        assert!(both.starts_with("Docker and CRI-O run here"), "{both}");
    }
}
