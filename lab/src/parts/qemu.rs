//! QEMU from Debian's backports, unpacked and not installed, so that this machine's own QEMU stays as
//! it is. `design/0006-qemu-from-backports.md` says why not that one. Its libraries are those of this
//! machine: see `TO_RUN` in `missing.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::PartError;
use crate::cache::{Cache, Key};
use crate::debian::{self, Archive, DebianError};
use crate::progress::Reporter;

/// The program, its option ROMs, and the firmware of the nodes.
const PACKAGES: [&str; 3] = ["qemu-system-x86", "qemu-system-data", "seabios"];

#[derive(Clone, Debug)]
pub struct Qemu {
    folder: PathBuf,
}

impl Qemu {
    /// The program with the paths of its firmware, which it would look for in `/usr`.
    pub fn command(&self) -> Command {
        let usr = self.folder.join("usr");
        let mut qemu = Command::new(usr.join("bin/qemu-system-x86_64"));
        for firmware in ["share/qemu", "share/seabios"] {
            qemu.arg("-L").arg(usr.join(firmware));
        }
        qemu
    }
}

/// The program needs the libraries of one Debian release.
fn key() -> Result<Key, DebianError> {
    let release = debian::release()?;
    Ok(Key::of(PACKAGES.into_iter().chain([release.as_str()])))
}

pub fn is_missing(cache: &Cache) -> bool {
    let found = key().ok().and_then(|key| cache.find("qemu", &key));
    found.is_none()
}

/// The program and its firmware; fetches them if the cache does not have them.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<Qemu, PartError> {
    let folder = cache.part("qemu", &key()?, reporter, |folder| {
        reporter.step("fetching QEMU", || fetch(cache, folder))
    })?;
    Ok(Qemu { folder })
}

fn fetch(cache: &Cache, folder: &Path) -> Result<(), PartError> {
    let archive = Archive::of_this_machines_backports(cache)?;
    archive.refresh(cache)?;
    for package in PACKAGES {
        archive.unpack(package, folder)?;
    }
    Ok(())
}
