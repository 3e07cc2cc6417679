//! Schedulers that others wrote, built from crates.io.

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

/// All of them are released together.
const VERSION: &str = "1.1.4";

/// A scheduler with its crate's name.
#[derive(Clone, Copy)]
pub(super) struct ThirdParty {
    name: &'static str,
    description: &'static str,
}

pub(super) const BPFLAND: ThirdParty = ThirdParty {
    name: "scx_bpfland",
    description: "A vruntime-based scheduler that favours interactive tasks",
};
pub(super) const LAVD: ThirdParty = ThirdParty {
    name: "scx_lavd",
    description: "A scheduler that derives virtual deadlines from a task's latency criticality",
};
pub(super) const RUSTY: ThirdParty = ThirdParty {
    name: "scx_rusty",
    description: "A scheduler that balances load between cache domains",
};

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

impl ThirdParty {
    pub(super) fn is_missing(self, cache: &Cache) -> bool {
        cache.find(self.name, &key()).is_none()
    }

    pub(super) fn images(
        self,
        cache: &Cache,
        reporter: &Reporter,
    ) -> Result<Vec<RegistryImage>, PartError> {
        let authors = format!("the {} authors", self.name);
        let labels = ImageLabels {
            title: self.name,
            description: self.description,
            version: VERSION,
            revision: VERSION,
            licenses: "GPL-2.0-only",
            authors: &authors,
            vendor: "sched-ext",
            source: "https://github.com/sched-ext/scx",
            documentation: "https://github.com/sched-ext/scx",
        };
        let files = files(&self.root(cache, reporter)?)?;
        let entrypoint = format!("/{}", self.name);
        let image = Image::new("amd64", &files, &[&entrypoint], &labels.to_map())?;
        Ok([VERSION, "latest"]
            .map(|tag| RegistryImage::Single {
                repository: self.name.to_owned(),
                tag: tag.to_owned(),
                image: image.clone(),
            })
            .into())
    }

    /// The root folder of the image: the program and the libraries it was linked with. They are
    /// copied when it is built, because this machine's libraries may change later.
    fn root(self, cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
        let name = self.name;
        let folder = cache.part(name, &key(), reporter, |folder| {
            reporter.step(format!("building {name} {VERSION}"), || {
                let build = folder.join("target");
                self.install(folder, &build, &cache.log(name))?;
                let program = build.join("bin").join(name);
                let mut files = shared_libraries(&program)?;
                files.push(File {
                    from: program,
                    to: Path::new("/").join(name),
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

    fn install(self, folder: &Path, build: &Path, log: &Path) -> Result<(), PartError> {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", build)
            // make sets it to the static target, which libbpf does not support.
            .env_remove("CARGO_BUILD_TARGET")
            .env("BPF_CLANG", CLANG)
            .envs(PROFILE)
            .args(["install", self.name, "--locked", "--no-track"])
            .args(["--version", VERSION, "--root"]);
        command::run(cargo.arg(build), log).map_err(|source| PartError::Build {
            part: self.name.to_owned(),
            log: log.display().to_string(),
            source,
        })
    }
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
