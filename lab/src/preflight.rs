//! Checks that this machine can run a lab, before anything slow begins. Each check is a function;
//! the user reads the message of the first that fails.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::Cache;
use crate::environment;
use crate::init::Init;
use crate::spec::LabSpec;
use crate::topology::Topology;

const GIB: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    #[error(
        "the lab needs root for namespaces, tap devices and packages: run it again with sudo or as root"
    )]
    NotRoot,
    #[error(
        "the lab runs on x86_64 machines only, because its kernels are Debian's for amd64; this machine is {0}"
    )]
    WrongArchitecture(&'static str),
    #[error("systemd starts no kubelet: `--init systemd` needs `--topology machine`")]
    SystemdWithoutMachine,
    #[error(
        "{what} is not installed or not in PATH, and {need} must be built with it: install it from {from}, then try again"
    )]
    NoToolchain {
        what: &'static str,
        need: &'static str,
        from: &'static str,
    },
    #[error(
        "/dev/net/tun cannot be opened, and the nodes' network needs it: load it with `modprobe tun` or pass the device into this container"
    )]
    NoTun(#[source] io::Error),
    #[error(
        "{path} has {free} MiB free and the lab needs {needed} MiB there: make room, or choose another folder with {remedy}"
    )]
    DiskFull {
        path: PathBuf,
        /// In MiB, as `needed`.
        free: u64,
        needed: u64,
        /// The option or variable that moves the folder.
        remedy: &'static str,
    },
}

/// What is not in the cache or not installed yet; `parts` finds it out.
#[derive(Debug)]
pub struct MissingParts {
    /// Packages to be installed on this machine.
    pub packages: Vec<String>,
    /// Kubernetes or kwok, to be built with Go.
    pub kubernetes: bool,
    /// cosign or the private Sigstore, to be built with Go.
    pub signing: bool,
    /// To be built with Rust.
    pub schedulers: bool,
    /// QEMU, the root disk or the registry's program, to be fetched from Debian.
    pub debian: bool,
    /// The kernel series to be fetched.
    pub kernel: Option<String>,
}

impl MissingParts {
    pub fn anything(&self) -> bool {
        let Self {
            packages,
            kubernetes,
            signing,
            schedulers,
            debian,
            kernel,
        } = self;
        !packages.is_empty()
            || *kubernetes
            || *signing
            || *schedulers
            || *debian
            || kernel.is_some()
    }
}

/// The check that every command which starts or ends a lab makes first.
pub fn root() -> Result<(), PreflightError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(PreflightError::NotRoot)
    }
}

/// All other checks.
pub fn check(cache: &Cache, spec: &LabSpec, missing: &MissingParts) -> Result<(), PreflightError> {
    architecture()?;
    init(spec)?;
    if missing.kubernetes {
        toolchain("go", "version", "Go", "Kubernetes", "https://go.dev/dl")?;
    }
    if missing.signing {
        toolchain("go", "version", "Go", "cosign", "https://go.dev/dl")?;
    }
    if missing.schedulers {
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
    disk_space(&[
        (
            &spec.state,
            GIB * (1 + u64::from(spec.node_count())),
            "--state",
        ),
        (cache.root(), space_to_build(missing), environment::CACHE),
        (
            Path::new("/"),
            if missing.packages.is_empty() { 0 } else { GIB },
            "a larger disk",
        ),
    ])
}

fn init(spec: &LabSpec) -> Result<(), PreflightError> {
    match (spec.init, spec.topology) {
        (Init::Lab, _) | (Init::Systemd, Topology::Machine) => Ok(()),
        (Init::Systemd, _) => Err(PreflightError::SystemdWithoutMachine),
    }
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
    let runs = Command::new(program)
        .arg(argument)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if runs {
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

/// The space that the missing parts take while they are built.
fn space_to_build(missing: &MissingParts) -> u64 {
    let MissingParts {
        packages: _,
        kubernetes,
        signing,
        schedulers,
        debian,
        kernel,
    } = missing;
    let parts = [
        (*kubernetes, 6),
        (*signing, 4),
        (*schedulers, 3),
        (*debian, 3),
        (kernel.is_some(), 1),
    ];
    GIB * parts
        .iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, size)| size)
        .sum::<u64>()
}

/// Checks the free space for (folder, bytes, remedy); folders on the same disk are added up.
fn disk_space(needs: &[(&Path, u64, &'static str)]) -> Result<(), PreflightError> {
    let mut needed_on = BTreeMap::new();
    for (path, needed, remedy) in needs {
        // The folder may not exist yet; its nearest existing parent is on the same disk.
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
    fn the_error_for_a_small_disk_has_numbers_and_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        disk_space(&[(folder.path(), 0, "X")]).unwrap();
        let below = folder.path().join("not/yet");
        let half = u64::MAX / 2 + 1;
        let error = disk_space(&[(folder.path(), half, "X"), (&below, half, "SCHEDKIT_CACHE")]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("MiB free") && error.contains("make room"),
            "{error}"
        );
    }

    #[test]
    fn systemd_is_for_machines_without_kubernetes() {
        let spec = |topology| LabSpec {
            init: Init::Systemd,
            ..LabSpec::new("x", topology, Path::new("/nowhere"))
        };
        init(&spec(Topology::Machine)).unwrap();
        let error = init(&spec(Topology::Cluster)).unwrap_err().to_string();
        assert!(error.contains("--topology machine"), "{error}");
    }

    #[test]
    fn nothing_missing_needs_no_space() {
        let missing = MissingParts {
            packages: vec![],
            kubernetes: false,
            signing: false,
            schedulers: false,
            debian: false,
            kernel: None,
        };
        assert_eq!(space_to_build(&missing), 0);
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
