//! Builds Go programs from modules that are pinned in this tree. The parts that are written in
//! Go call it; it knows none of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::PartError;
use crate::cache::Cache;
use crate::command;

/// One program to be built.
pub(super) struct Build<'a> {
    /// The folder with `go.mod` and `go.sum`.
    pub(super) module: &'a Path,
    /// The package of the program.
    pub(super) package: &'a str,
    /// What the linker is told besides leaving out symbols.
    pub(super) link: &'a str,
    /// Where the program goes.
    pub(super) output: &'a Path,
    /// The part's name, for its log.
    pub(super) part: &'a str,
}

/// Builds it. The folder that Go keeps its own cache in is one for all parts.
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
    )?;
    Ok(())
}

/// Works in a folder with these files, which is gone afterwards.
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
