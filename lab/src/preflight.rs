//! Whether this machine can hold a lab, asked before anything slow begins.
//!
//! Each check is a function of its own; the first that fails is what the user reads.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::Cache;
use crate::environment;
use crate::parts::Missing;
use crate::spec::LabSpec;

const GIB: u64 = 1 << 30;

/// Why this machine cannot hold a lab.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Not root.
    #[error(
        "the lab needs root, for namespaces, taps and packages: run it again with sudo or as root"
    )]
    NotRoot,
    /// Not a machine that Debian's amd64 kernels run on.
    #[error("the lab runs on x86_64 machines only; this one is {0}")]
    WrongArchitecture(&'static str),
    /// A toolchain is missing.
    #[error(
        "{what} is not installed or not in PATH, and {need} must be built with it: install it from {from}, then try again"
    )]
    NoToolchain {
        /// Rust or Go.
        what: &'static str,
        /// What cannot be built.
        need: &'static str,
        /// Where to get it.
        from: &'static str,
    },
    /// No tap devices.
    #[error(
        "/dev/net/tun cannot be opened, and the nodes' network needs it: load it with `modprobe tun` or pass the device into this container"
    )]
    NoTun(#[source] io::Error),
    /// Too little room.
    #[error(
        "{path} has {free} MiB free and the lab needs {needed} MiB there: make room, or choose another place with {remedy}"
    )]
    DiskFull {
        /// Where.
        path: PathBuf,
        /// What is there.
        free: u64,
        /// What is needed.
        needed: u64,
        /// The setting that moves it.
        remedy: &'static str,
    },
}

/// The one check that must come before anything else.
pub fn root() -> Result<(), PreflightError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(PreflightError::NotRoot)
    }
}

/// Everything else, for what is wanted and what is missing.
pub fn check(cache: &Cache, spec: &LabSpec, missing: &Missing) -> Result<(), PreflightError> {
    architecture()?;
    if missing.go {
        toolchain("go", "version", "Go", "Kubernetes", "https://go.dev/dl")?;
    }
    if missing.signing {
        toolchain("go", "version", "Go", "cosign", "https://go.dev/dl")?;
    }
    if missing.rust {
        toolchain(
            "cargo",
            "--version",
            "Rust",
            "the schedulers",
            "https://rustup.rs",
        )?;
    }
    if spec.node_count() > 0 {
        tun()?;
    }
    rooms(&[
        (
            &spec.state,
            GIB * (1 + u64::from(spec.node_count())),
            "--state",
        ),
        (cache.root(), room_to_make(missing), environment::CACHE),
        (
            Path::new("/"),
            if missing.packages.is_empty() { 0 } else { GIB },
            "a larger disk",
        ),
    ])
}

fn architecture() -> Result<(), PreflightError> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(()),
        other => Err(PreflightError::WrongArchitecture(other)),
    }
}

fn toolchain(
    program: &str,
    argument: &str,
    what: &'static str,
    need: &'static str,
    from: &'static str,
) -> Result<(), PreflightError> {
    let answers = Command::new(program)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if answers {
        Ok(())
    } else {
        Err(PreflightError::NoToolchain { what, need, from })
    }
}

fn tun() -> Result<(), PreflightError> {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(PreflightError::NoTun)?;
    Ok(())
}

/// What the missing parts take while they are made.
fn room_to_make(missing: &Missing) -> u64 {
    let Missing {
        packages: _,
        go,
        signing,
        rust,
        debian,
        kernel,
    } = missing;
    let parts = [
        (*go, 6),
        (*signing, 4),
        (*rust, 3),
        (*debian, 3),
        (kernel.is_some(), 1),
    ];
    GIB * parts
        .iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, size)| size)
        .sum::<u64>()
}

/// Whether there is room for everything; what lies on one disk is added up.
fn rooms(needs: &[(&Path, u64, &'static str)]) -> Result<(), PreflightError> {
    let mut needed_on = BTreeMap::new();
    for (path, needed, remedy) in needs {
        // The folder itself may not exist yet; its nearest existing parent is on the same disk.
        let existing = path
            .ancestors()
            .find(|path| path.exists())
            .unwrap_or(Path::new("/"));
        let (Ok(file), Ok(disk)) = (existing.metadata(), rustix::fs::statvfs(existing)) else {
            continue;
        };
        let total = needed_on.entry(file.dev()).or_insert(0_u64);
        *total = total.saturating_add(*needed);
        let free = disk.f_bavail * disk.f_frsize;
        if free < *total {
            return Err(PreflightError::DiskFull {
                path: existing.to_owned(),
                free: free >> 20,
                needed: *total >> 20,
                remedy,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_is_told_with_numbers() {
        let folder = tempfile::tempdir().unwrap();
        rooms(&[(folder.path(), 0, "X")]).unwrap();
        let below = folder.path().join("not/yet");
        let half = u64::MAX / 2 + 1;
        let error = rooms(&[(folder.path(), half, "X"), (&below, half, "SCHEDKIT_CACHE")]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("MiB free") && error.contains("make room"),
            "{error}"
        );
    }

    #[test]
    fn nothing_missing_needs_no_room() {
        let missing = Missing {
            packages: vec![],
            go: false,
            signing: false,
            rust: false,
            debian: false,
            kernel: None,
        };
        assert_eq!(room_to_make(&missing), 0);
    }

    #[test]
    fn a_missing_toolchain_is_named() {
        let error = toolchain(
            "no-such-compiler",
            "version",
            "Go",
            "Kubernetes",
            "somewhere",
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("Go is not installed or not in PATH"),
            "{error}"
        );
    }
}
