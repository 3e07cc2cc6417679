//! The registry's program from Debian's package, unpacked and not installed, so that no service
//! starts on this machine.

use std::path::PathBuf;

use super::error::PartError;
use crate::cache::{Cache, Key};
use crate::debian::Archive;
use crate::progress::Reporter;

const PACKAGE: &str = "docker-registry";

fn key() -> Key {
    Key::of([PACKAGE])
}

pub fn is_missing(cache: &Cache) -> bool {
    cache.find("registry", &key()).is_none()
}

/// The program; fetches it if the cache does not have it.
pub fn make(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("registry", &key(), reporter, |folder| {
        reporter.step("fetching the registry", || {
            let archive = Archive::of_this_machine(cache, "amd64")?;
            archive.refresh(cache)?;
            archive.unpack(PACKAGE, folder)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("usr/bin/docker-registry"))
}
