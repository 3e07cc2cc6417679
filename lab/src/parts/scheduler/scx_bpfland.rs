//! scx_bpfland, a third-party scheduler, built from crates.io.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::error::PartError;
use super::super::registry_image::RegistryImage;
use super::image_labels::ImageLabels;
use crate::cache::{Cache, Key};
use crate::command;
use crate::file_tree::files_below;
use crate::oci::{File, Image, shared_libraries};
use crate::progress::Reporter;

/// Of the package list in `scheduler.rs`.
const CLANG: &str = "clang-19";

const VERSION: &str = "1.1.4";

/// Chosen for a quick build: under emulation its speed is not measured.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];

fn key() -> Key {
    Key::of(
        [VERSION, CLANG]
            .into_iter()
            .chain(PROFILE.map(|(_, value)| value)),
    )
}

pub(super) fn is_missing(cache: &Cache) -> bool {
    cache.find("scx_bpfland", &key()).is_none()
}

pub(super) fn images(cache: &Cache, reporter: &Reporter) -> Result<Vec<RegistryImage>, PartError> {
    let labels = ImageLabels {
        title: "scx_bpfland",
        description: "A vruntime-based scheduler that favours interactive tasks",
        version: VERSION,
        revision: VERSION,
        licenses: "GPL-2.0-only",
        authors: "the scx_bpfland authors",
        vendor: "sched-ext",
        source: "https://github.com/sched-ext/scx",
        documentation: "https://github.com/sched-ext/scx",
    };
    let files = files(&root(cache, reporter)?)?;
    let image = Image::new("amd64", &files, &["/scx_bpfland"], &labels.to_map())?;
    Ok([VERSION, "latest"]
        .map(|tag| RegistryImage::Single {
            repository: "scx_bpfland".to_owned(),
            tag: tag.to_owned(),
            image: image.clone(),
        })
        .into())
}

/// The root folder of the image: the program and the libraries it was linked with. They are copied
/// when it is built, because this machine's libraries may change later.
fn root(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("scx_bpfland", &key(), reporter, |folder| {
        reporter.step(format!("building scx_bpfland {VERSION}"), || {
            let build = folder.join("target");
            let mut cargo = Command::new("cargo");
            cargo
                .current_dir(folder)
                .env("CARGO_TARGET_DIR", &build)
                // make sets it to the static target, which libbpf does not support.
                .env_remove("CARGO_BUILD_TARGET")
                .env("BPF_CLANG", CLANG)
                .envs(PROFILE);
            cargo.args([
                "install",
                "scx_bpfland",
                "--locked",
                "--no-track",
                "--version",
                VERSION,
                "--root",
            ]);
            let log = cache.log("scx_bpfland");
            command::run(cargo.arg(&build), &log).map_err(|source| PartError::Build {
                part: "scx_bpfland".to_owned(),
                log: log.display().to_string(),
                source,
            })?;
            let program = build.join("bin/scx_bpfland");
            let mut files = shared_libraries(&program)?;
            files.push(File {
                from: program,
                to: "/scx_bpfland".into(),
            });
            for File { from, to } in files {
                let to = folder
                    .join("root")
                    .join(to.strip_prefix("/").unwrap_or(&to));
                fs::create_dir_all(to.parent().unwrap_or(folder))?;
                fs::copy(from, to)?;
            }
            fs::remove_dir_all(&build)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("root"))
}

/// The files of a folder, with their paths in the image.
fn files(root: &Path) -> io::Result<Vec<File>> {
    let mut paths = files_below(root)?;
    paths.sort();
    let file = |from: PathBuf| File {
        to: Path::new("/").join(from.strip_prefix(root).unwrap_or(&from)),
        from,
    };
    Ok(paths.into_iter().map(file).collect())
}
