//! Builds static programs of this workspace, which run on any node. `make static` builds the released
//! ones; tests build theirs here, so that they never run an old one.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, CommandError};

/// The target with a static C library.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Debug,
    /// For measurements.
    Release,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot build {package} for {TARGET}: run `lab/bootstrap`, which installs this target")]
    Cargo {
        package: String,
        source: CommandError,
    },
    #[error("cannot derive cargo's build folder from the path of this program")]
    NoFolder(#[from] io::Error),
}

/// Builds the program of a package in the build folder of this process.
pub fn build(package: &str, profile: Profile) -> Result<PathBuf, BuildError> {
    let this = std::env::current_exe()?;
    let target = build_folder(&this).ok_or_else(|| io::Error::other(this.display().to_string()))?;
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "--locked", "--package", package])
        .args(["--target", TARGET])
        .arg("--target-dir")
        .arg(&target);
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    command::read(&mut cargo).map_err(|source| BuildError::Cargo {
        package: package.to_owned(),
        source,
    })?;
    Ok(target.join(TARGET).join(folder).join(package))
}

/// The build folder of a program in `FOLDER/PROFILE/` or one folder below.
fn build_folder(program: &Path) -> Option<PathBuf> {
    let profile = program
        .ancestors()
        .skip(1)
        .take(2)
        .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))?;
    profile.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_folder_is_found_from_any_program_in_it() {
        for program in [
            "/w/target/debug/lab",
            "/w/target/debug/deps/machine-1f",
            "/w/target/release/examples/demo",
        ] {
            let folder = build_folder(Path::new(program));
            assert_eq!(folder.as_deref(), Some(Path::new("/w/target")), "{program}");
        }
        assert_eq!(build_folder(Path::new("/usr/bin/lab")), None);
    }
}
