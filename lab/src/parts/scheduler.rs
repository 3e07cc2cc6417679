//! Scheduler images: our own with its faults, and one that others wrote.
//!
//! Both are packaged alike: the program, the libraries it needs (none when static), and the
//! labels that scheduler images carry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PartError, StockImage};
use crate::cache::{Cache, Key};
use crate::command;
use crate::debian::Archive;
use crate::ground::Scheduler;
use crate::lockfile;
use crate::oci::{File, Image, Index, shared_libraries};
use crate::progress::Reporter;

/// What this machine must have to build schedulers.
pub const PACKAGES: &[&str] = &[
    "clang-19",
    "gcc",
    "gcc-aarch64-linux-gnu",
    "libc6-dev",
    "libc6-dev-arm64-cross",
    "libclang-19-dev",
    "libelf-dev",
    "make",
    "pkg-config",
    "zlib1g-dev",
];

const CLANG: &str = "clang-19";

/// The release of scx_bpfland in the Rust package registry.
const BPFLAND: &str = "1.1.4";

/// The oldest kernel that has sched_ext at all.
const KERNEL_FLOOR: &str = "6.12";

/// The faults that `scx_lab` has a tag for, so that a pod without arguments can misbehave.
pub const FAULT_TAGS: &[&str] = &[
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

/// Whether a scheduler must be built first.
pub fn is_missing(cache: &Cache, scheduler: Scheduler) -> bool {
    match scheduler {
        Scheduler::ScxLab => [Platform::Amd64, Platform::Arm64]
            .iter()
            .any(|platform| platform.find(cache).is_none()),
        Scheduler::ScxBpfland => cache.find("scx_bpfland", &bpfland_key()).is_none(),
    }
}

/// A scheduler's images, its program built unless it is there.
pub fn stock(
    cache: &Cache,
    scheduler: Scheduler,
    reporter: &Reporter,
) -> Result<Vec<StockImage>, PartError> {
    match scheduler {
        Scheduler::ScxLab => lab_stock(
            &lab_program(cache, Platform::Amd64, reporter)?,
            &lab_program(cache, Platform::Arm64, reporter)?,
        ),
        Scheduler::ScxBpfland => bpfland_stock(&bpfland_program(cache, reporter)?),
    }
}

/// `1.0.0` for one platform; `1.1.0` and `latest` for two; a tag a fault.
fn lab_stock(amd64: &Path, arm64: &Path) -> Result<Vec<StockImage>, PartError> {
    let image = |platform: Platform, program: &Path, version: &str, arguments: &[&str]| {
        let files = [File {
            from: program.to_owned(),
            to: "/scx_lab".into(),
        }];
        let command = [&["/scx_lab"], arguments].concat();
        let labels = labels(
            "scx_lab",
            version,
            "Apache-2.0 AND GPL-2.0-only",
            "A scheduler to be trusted and to misbehave on order",
        );
        Image::new(platform.oci_name(), &files, &command, &labels)
    };
    let single = |tag: &str, image| StockImage::Single {
        repository: "scx_lab".to_owned(),
        tag: tag.to_owned(),
        image,
    };
    let named = |version: &str| ["--name".to_owned(), format!("lab_{version}")];
    let old = named("1.0.0");
    let new = named("1.1.0");
    let new = new.each_ref().map(String::as_str);
    let both = || {
        Index::new(vec![
            image(Platform::Amd64, amd64, "1.1.0", &new)?,
            image(Platform::Arm64, arm64, "1.1.0", &new)?,
        ])
    };
    let mut stock = vec![single(
        "1.0.0",
        image(
            Platform::Amd64,
            amd64,
            "1.0.0",
            &old.each_ref().map(String::as_str),
        )?,
    )];
    for tag in ["1.1.0", "latest"] {
        stock.push(StockImage::Multi {
            repository: "scx_lab".to_owned(),
            tag: tag.to_owned(),
            index: both()?,
        });
    }
    for fault in FAULT_TAGS {
        stock.push(single(
            fault,
            image(Platform::Amd64, amd64, "1.1.0", &["--fault", fault])?,
        ));
    }
    Ok(stock)
}

fn bpfland_stock(program: &Path) -> Result<Vec<StockImage>, PartError> {
    let mut files = shared_libraries(program)?;
    files.push(File {
        from: program.to_owned(),
        to: "/scx_bpfland".into(),
    });
    let labels = labels(
        "scx_bpfland",
        BPFLAND,
        "GPL-2.0-only",
        "A vruntime-based scheduler that favours interactive tasks",
    );
    let image = Image::new("amd64", &files, &["/scx_bpfland"], &labels)?;
    Ok([BPFLAND, "latest"]
        .map(|tag| StockImage::Single {
            repository: "scx_bpfland".to_owned(),
            tag: tag.to_owned(),
            image: image.clone(),
        })
        .into())
}

fn labels(
    title: &str,
    version: &str,
    licenses: &str,
    description: &str,
) -> BTreeMap<String, String> {
    let common = [
        ("title", title),
        ("description", description),
        ("version", version),
        ("licenses", licenses),
        ("vendor", "schedkit lab"),
        ("source", "https://github.com/schedkit/schedkit"),
    ]
    .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()));
    let floor = (
        "org.schedkit.scheduler.kernel.min-version".to_owned(),
        KERNEL_FLOOR.to_owned(),
    );
    common.into_iter().chain([floor]).collect()
}

/// What a program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
    Amd64,
    Arm64,
}

impl Platform {
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

    fn find(self, cache: &Cache) -> Option<PathBuf> {
        cache.find(&self.part_name(), &lab_key())
    }

    fn part_name(self) -> String {
        format!("scx_lab-{}", self.oci_name())
    }
}

/// Our own scheduler's sources lie beside this crate.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A fingerprint of everything our scheduler is built from.
fn lab_key() -> Key {
    let workspace = workspace();
    let mut files = Vec::new();
    collect_files(&workspace.join("lab/schedulers/scx_lab"), &mut files);
    files.sort();
    let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap_or_default();
    let mut ingredients = vec![lockfile::closure(&lock, "scx_lab").into_bytes()];
    for file in files {
        let name = file.strip_prefix(&workspace).unwrap_or(&file);
        ingredients.push(name.to_string_lossy().as_bytes().to_vec());
        ingredients.push(fs::read(&file).unwrap_or_default());
    }
    Key::of(ingredients)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn lab_program(
    cache: &Cache,
    platform: Platform,
    reporter: &Reporter,
) -> Result<PathBuf, PartError> {
    let folder = cache.part(&platform.part_name(), &lab_key(), |folder| {
        reporter.step(
            format!("building scx_lab for {}", platform.oci_name()),
            || build_lab(cache, platform, folder),
        )
    })?;
    Ok(folder.join("scx_lab"))
}

/// The build has a folder of its own: cargo tells two checkouts of one package apart by time
/// stamps only, and a shared folder would hand out the other one's program.
fn build_lab(cache: &Cache, platform: Platform, folder: &Path) -> Result<(), PartError> {
    let target = platform.rust_target();
    let build = folder.join("target");
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", &build);
    cargo
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
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
    if platform == Platform::Arm64 {
        cross(cache, &mut cargo, &folder.join("sysroot"))?;
    }
    command::run(&mut cargo, &cache.log("scx_lab"))?;
    fs::copy(
        build.join(target).join("release/scx_lab"),
        folder.join("scx_lab"),
    )?;
    fs::remove_dir_all(&build)?;
    Ok(())
}

/// Makes a build one for arm64: Rust's library, the cross compiler and Debian's libraries for
/// that processor, unpacked beside the build so that this machine's packages stay as they are.
fn cross(cache: &Cache, cargo: &mut Command, sysroot: &Path) -> Result<(), PartError> {
    let target = Platform::Arm64.rust_target();
    let log = cache.log("scx_lab");
    if command::read(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))
        .is_ok_and(|folder| !Path::new(folder.trim()).is_dir())
    {
        command::run(Command::new("rustup").args(["target", "add", target]), &log)?;
    }
    let archive = Archive::of_arm64(cache)?;
    archive.refresh(cache)?;
    for package in ["libelf-dev", "zlib1g-dev"] {
        archive.unpack(package, sysroot)?;
    }
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
    cargo.env(
        "LIBBPF_SYS_LIBRARY_PATH_aarch64_unknown_linux_gnu",
        sysroot.join("usr/lib/aarch64-linux-gnu"),
    );
    Ok(())
}

fn bpfland_key() -> Key {
    Key::of([BPFLAND, CLANG])
}

/// Built quickly rather than well: under emulation nobody measures it.
fn bpfland_program(cache: &Cache, reporter: &Reporter) -> Result<PathBuf, PartError> {
    let folder = cache.part("scx_bpfland", &bpfland_key(), |folder| {
        reporter.step(format!("building scx_bpfland {BPFLAND}"), || {
            let build = folder.join("target");
            command::run(
                Command::new("cargo")
                    .current_dir(folder)
                    .env("BPF_CLANG", CLANG)
                    .env("CARGO_TARGET_DIR", &build)
                    .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
                    .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
                    .env("CARGO_PROFILE_RELEASE_LTO", "off")
                    .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
                    .args([
                        "install",
                        "scx_bpfland",
                        "--locked",
                        "--no-track",
                        "--version",
                        BPFLAND,
                        "--root",
                    ])
                    .arg(folder),
                &cache.log("scx_bpfland"),
            )?;
            // Only the program is needed again, and its build takes a gigabyte.
            fs::remove_dir_all(&build)?;
            Ok::<(), PartError>(())
        })
    })?;
    Ok(folder.join("bin/scx_bpfland"))
}
