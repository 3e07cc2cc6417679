//! Prometheus and promtool: Debian's package for this machine's release, unpacked rather than
//! installed, so that no service of it starts on this machine. For the tests of what watches over
//! sked; no lab runs it.

use std::path::PathBuf;

use super::PartError;
use crate::cache::{Cache, Key};
use crate::debian::{self, Archive, DebianError};
use crate::progress::Reporter;

const PACKAGE: &str = "prometheus";

/// The unpacked programs.
#[derive(Clone, Debug)]
pub struct Prometheus {
    /// The server.
    pub server: PathBuf,
    /// What checks and tries rules without a server.
    pub promtool: PathBuf,
}

/// Built against the libraries of one release, so another release needs another.
fn key() -> Result<Key, DebianError> {
    let release = debian::release()?;
    Ok(Key::of([PACKAGE, &release]))
}

/// The programs, fetched unless they are there.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<Prometheus, PartError> {
    let folder = cache.part(PACKAGE, &key()?, reporter, |folder| {
        reporter.step("fetching Prometheus", || {
            let archive = Archive::of_this_machine(cache, "amd64")?;
            archive.refresh(cache)?;
            archive.unpack(PACKAGE, folder)?;
            Ok::<(), PartError>(())
        })
    })?;
    let programs = folder.join("usr/bin");
    Ok(Prometheus {
        server: programs.join("prometheus"),
        promtool: programs.join("promtool"),
    })
}
