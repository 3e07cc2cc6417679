//! Prometheus and promtool from Debian's package, unpacked and not installed, so that no service
//! starts on this machine. For the tests of sked's metrics and alerts; no lab runs it.

use std::path::PathBuf;

use super::error::PartError;
use crate::cache::{Cache, Key};
use crate::debian::{self, Archive, DebianError};
use crate::progress::Reporter;

const PACKAGE: &str = "prometheus";

#[derive(Clone, Debug)]
pub struct Prometheus {
    pub server: PathBuf,
    pub promtool: PathBuf,
}

/// The programs need the libraries of one Debian release.
fn key() -> Result<Key, DebianError> {
    let release = debian::release()?;
    Ok(Key::of([PACKAGE, &release]))
}

/// The programs; fetches them if the cache does not have them.
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
