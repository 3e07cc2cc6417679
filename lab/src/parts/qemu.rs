//! QEMU, which runs the nodes: that of this machine's backports, unpacked rather than installed, so
//! that a QEMU of this machine's own stays as it is. Why not that one is in
//! `design/0006-the-nodes-qemu.md`.
//!
//! Its libraries are this machine's: see `TO_RUN` in `parts.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::PartError;
use crate::cache::{Cache, Key};
use crate::debian::{self, Archive, DebianError};
use crate::progress::Reporter;

/// The program, what it loads a kernel with, and the nodes' firmware.
const PACKAGES: [&str; 3] = ["qemu-system-x86", "qemu-system-data", "seabios"];

/// An unpacked QEMU.
#[derive(Clone, Debug)]
pub struct Qemu {
    folder: PathBuf,
}

impl Qemu {
    /// Runs it. It was built to be at home in `/usr` and would look for its firmware there.
    pub fn command(&self) -> Command {
        let usr = self.folder.join("usr");
        let mut qemu = Command::new(usr.join("bin/qemu-system-x86_64"));
        for firmware in ["share/qemu", "share/seabios"] {
            qemu.arg("-L").arg(usr.join(firmware));
        }
        qemu
    }
}

/// Built against the libraries of one release, so another release needs another.
fn key() -> Result<Key, DebianError> {
    let release = debian::release()?;
    Ok(Key::of(PACKAGES.into_iter().chain([release.as_str()])))
}

/// Whether it must be fetched first.
pub fn is_missing(cache: &Cache) -> bool {
    let found = key().ok().and_then(|key| cache.find("qemu", &key));
    found.is_none()
}

/// The program and its firmware, fetched unless they are there.
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
