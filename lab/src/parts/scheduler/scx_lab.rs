//! scx_lab, our own scheduler: a static program for two platforms, built from `lab/schedulers`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::error::PartError;
use super::super::registry_image::RegistryImage;
use super::image_labels::ImageLabels;
use crate::cache::{Cache, Key};
use crate::command;
use crate::debian::Archive;
use crate::file_tree::files_below;
use crate::lockfile;
use crate::oci::{File, Image, Index};
use crate::progress::Reporter;
use crate::spec::LabSpec;

/// Of the package list in `scheduler.rs`.
const CLANG: &str = "clang-19";

const RUSTFLAGS: &str = "-C target-feature=+crt-static";

/// The libraries that scx_lab is linked with, for arm64.
const CROSS_LIBRARIES: [&str; 2] = ["libelf-dev", "zlib1g-dev"];

/// The faults that have a tag, for pods without arguments.
const FAULTS: [&str; 9] = [
    "stall",
    "scx-error",
    "runtime-error",
    "bpf-exit",
    "verifier",
    "refuse",
    "slow-attach",
    "exit",
    "ignore-sigterm",
];

pub(super) fn is_missing(cache: &Cache, spec: &LabSpec) -> bool {
    let key = key();
    let missing = |platform: &Platform| cache.find(&platform.part_name(), &key).is_none();
    Platform::of(spec).iter().any(missing)
}

pub(super) fn find_program(cache: &Cache) -> Option<PathBuf> {
    let folder = cache.find(&Platform::Amd64.part_name(), &key())?;
    Some(folder.join("scx_lab"))
}

/// `1.0.0` for one platform; `1.1.0` and `latest` as an index of the lab's platforms; one tag per
/// fault.
pub(super) fn images(
    cache: &Cache,
    spec: &LabSpec,
    reporter: &Reporter,
) -> Result<Vec<RegistryImage>, PartError> {
    let key = key();
    let image = |platform: Platform, version: &str, arguments: &[&str]| {
        let files = [File {
            from: program(cache, platform, &key, reporter)?,
            to: "/scx_lab".into(),
        }];
        let command = [&["/scx_lab"], arguments].concat();
        let labels = labels(version, key.as_str()).to_map();
        let image = Image::new(platform.oci_name(), &files, &command, &labels);
        Ok::<_, PartError>(image?)
    };
    let index = || {
        let image = |platform: &Platform| image(*platform, "1.1.0", &["--name", "lab_1.1.0"]);
        let images: Result<Vec<_>, PartError> = Platform::of(spec).iter().map(image).collect();
        Ok::<_, PartError>(Index::new(images?)?)
    };
    let mut images = vec![single(
        "1.0.0",
        image(Platform::Amd64, "1.0.0", &["--name", "lab_1.0.0"])?,
    )];
    for tag in ["1.1.0", "latest"] {
        images.push(RegistryImage::Multi {
            repository: "scx_lab".to_owned(),
            tag: tag.to_owned(),
            index: index()?,
        });
    }
    for fault in FAULTS {
        images.push(single(
            fault,
            image(Platform::Amd64, "1.1.0", &["--fault", fault])?,
        ));
    }
    Ok(images)
}

fn single(tag: &str, image: Image) -> RegistryImage {
    RegistryImage::Single {
        repository: "scx_lab".to_owned(),
        tag: tag.to_owned(),
        image,
    }
}

fn labels<'a>(version: &'a str, revision: &'a str) -> ImageLabels<'a> {
    ImageLabels {
        title: "scx_lab",
        description: "A scheduler for tests, with faults that can be chosen",
        version,
        revision,
        licenses: "Apache-2.0 AND GPL-2.0-only",
        authors: "the schedkit authors",
        vendor: "schedkit",
        source: "https://github.com/schedkit/schedkit",
        documentation: "https://github.com/schedkit/schedkit",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
    Amd64,
    Arm64,
}

impl Platform {
    /// The platforms for which a lab has scx_lab.
    fn of(spec: &LabSpec) -> &'static [Self] {
        match spec.arm64 {
            true => &[Self::Amd64, Self::Arm64],
            false => &[Self::Amd64],
        }
    }

    fn oci_name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    fn rust_target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-gnu",
            Self::Arm64 => "aarch64-unknown-linux-gnu",
        }
    }

    fn part_name(self) -> String {
        format!("scx_lab-{}", self.oci_name())
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A hash of everything that scx_lab is built from.
fn key() -> Key {
    let workspace = workspace();
    let mut files = files_below(&workspace.join("lab/schedulers/scx_lab")).unwrap_or_default();
    files.sort();
    let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap_or_default();
    let mut ingredients = vec![lockfile::closure(&lock, "scx_lab").into_bytes()];
    ingredients.extend([RUSTFLAGS.into(), CLANG.into()]);
    for file in files {
        let name = file.strip_prefix(&workspace).unwrap_or(&file);
        ingredients.push(name.to_string_lossy().as_bytes().to_vec());
        ingredients.push(fs::read(&file).unwrap_or_default());
    }
    Key::of(ingredients)
}

fn program(
    cache: &Cache,
    platform: Platform,
    key: &Key,
    reporter: &Reporter,
) -> Result<PathBuf, PartError> {
    let folder = cache.part(&platform.part_name(), key, reporter, |folder| {
        let sysroot = match platform {
            Platform::Amd64 => None,
            Platform::Arm64 => Some(sysroot(cache, reporter)?),
        };
        reporter.step(
            format!("building scx_lab for {}", platform.oci_name()),
            || build(cache, platform, sysroot.as_deref(), folder),
        )
    })?;
    Ok(folder.join("scx_lab"))
}

/// The build has a folder of its own: cargo distinguishes two checkouts of a package by time stamps
/// only, and in a shared folder it could return the program of the other checkout.
fn build(
    cache: &Cache,
    platform: Platform,
    sysroot: Option<&Path>,
    folder: &Path,
) -> Result<(), PartError> {
    let target = platform.rust_target();
    let build = folder.join("target");
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", &build);
    cargo
        .env("RUSTFLAGS", RUSTFLAGS)
        .env("SCX_LAB_CLANG", CLANG);
    cargo.args([
        "build",
        "--locked",
        "--release",
        "-p",
        "scx_lab",
        "--target",
        target,
    ]);
    if let Some(sysroot) = sysroot {
        cross(&mut cargo, sysroot);
    }
    let log = cache.log("scx_lab");
    command::run(&mut cargo, &log).map_err(|source| PartError::Build {
        part: format!("scx_lab for {}", platform.oci_name()),
        log: log.display().to_string(),
        source,
    })?;
    fs::copy(
        build.join(target).join("release/scx_lab"),
        folder.join("scx_lab"),
    )?;
    fs::remove_dir_all(&build)?;
    Ok(())
}

/// Sets the variables of a build for arm64.
fn cross(cargo: &mut Command, sysroot: &Path) {
    let include = sysroot.join("usr/include");
    let include = include.display();
    cargo.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
        "aarch64-linux-gnu-gcc",
    );
    cargo.env("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc");
    cargo.env("AR_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-ar");
    cargo.env(
        "LIBBPF_SYS_EXTRA_CFLAGS",
        format!("-I{include} -I{include}/aarch64-linux-gnu"),
    );
    let libraries = sysroot.join("usr/lib/aarch64-linux-gnu");
    cargo.env(
        "LIBBPF_SYS_LIBRARY_PATH_aarch64_unknown_linux_gnu",
        libraries,
    );
}

/// What a build for arm64 needs besides the cross compiler: Rust's standard library, and Debian's
/// libraries for arm64, unpacked and not installed.
fn sysroot(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let target = Platform::Arm64.rust_target();
    let library = command::read(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        target,
    ]))?;
    if !Path::new(library.trim()).is_dir() {
        command::run(
            Command::new("rustup").args(["target", "add", target]),
            &cache.log("scx_lab"),
        )?;
    }
    cache.part(
        "arm64-sysroot",
        &Key::of(CROSS_LIBRARIES),
        reporter,
        |folder| {
            reporter.step("fetching libraries for arm64", || {
                let archive = Archive::of_this_machine(cache, "arm64")?;
                archive.refresh(cache)?;
                for package in CROSS_LIBRARIES {
                    archive.unpack(package, folder)?;
                }
                Ok(())
            })
        },
    )
}
