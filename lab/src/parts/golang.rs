//! Builds Go programs from modules that are pinned in this repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::PartError;
use crate::cache::Cache;
use crate::command;

pub(super) struct Build<'a> {
    /// The folder with `go.mod` and `go.sum`.
    pub(super) module: &'a Path,
    pub(super) package: &'a str,
    /// Further flags for the linker.
    pub(super) link: &'a str,
    /// The file of the program.
    pub(super) output: &'a Path,
    /// The part's name, for its log.
    pub(super) part: &'a str,
}

/// Builds a program. All parts share Go's own build cache.
pub(super) fn build(cache: &Cache, build: &Build<'_>) -> Result<(), PartError> {
    command::run(
        Command::new("go")
            .current_dir(build.module)
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=readonly -buildvcs=false -trimpath")
            .env("GOCACHE", cache.folder("go-build")?)
            .arg("build")
            .arg(format!("-ldflags=-s -w {}", build.link))
            .arg("-o")
            .arg(build.output)
            .arg(build.package),
        &cache.log(build.part),
    )
    .map_err(|source| PartError::Build {
        part: build.package.to_owned(),
        log: cache.log(build.part).display().to_string(),
        source,
    })
}

/// Calls `work` with a temporary folder that holds these files.
pub(super) fn in_module(
    folder: &Path,
    files: impl IntoIterator<Item = (&'static str, &'static str)>,
    work: impl FnOnce(&Path) -> Result<(), PartError>,
) -> Result<(), PartError> {
    let module = folder.join("module");
    fs::create_dir(&module)?;
    for (name, text) in files {
        fs::write(module.join(name), text)?;
    }
    work(&module)?;
    fs::remove_dir_all(&module)?;
    Ok(())
}

/// The version that a `go.mod` pins for the module a package belongs to.
pub(super) fn version(go_mod: &'static str, package: &str) -> &'static str {
    go_mod
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .find(|(module, _)| {
            package
                .strip_prefix(*module)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .map_or("", |(_, rest)| rest.split(' ').next().unwrap_or_default())
}
