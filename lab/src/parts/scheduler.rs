//! Scheduler images: our own with its faults, and one that others wrote.
//!
//! Both are packaged alike: the program, the libraries it needs (none when static), and the
//! labels that scheduler images carry.

mod bpfland;
mod own;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{PartError, StockImage};
use crate::cache::Cache;
use crate::progress::Reporter;
use crate::spec::Scheduler;

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

/// The oldest kernel that has sched_ext at all.
const KERNEL_FLOOR: &str = "6.12";

/// When images say they were made: always the same, so that the same input gives the same digest.
const CREATED: &str = "2026-11-15T00:00:00Z";

/// Whether a scheduler must be built first.
pub fn is_missing(cache: &Cache, scheduler: Scheduler) -> bool {
    match scheduler {
        Scheduler::ScxLab => own::is_missing(cache),
        Scheduler::ScxBpfland => bpfland::is_missing(cache),
    }
}

/// A scheduler's images, its program built unless it is there.
pub fn stock(
    cache: &Cache,
    scheduler: Scheduler,
    reporter: &Reporter,
) -> Result<Vec<StockImage>, PartError> {
    match scheduler {
        Scheduler::ScxLab => own::stock(cache, reporter),
        Scheduler::ScxBpfland => bpfland::stock(cache, reporter),
    }
}

/// Our own scheduler's program for this machine's processor, if it was built: it runs as it is, also
/// where there are no containers.
pub fn own_program(cache: &Cache) -> Option<PathBuf> {
    own::find_program(cache)
}

/// What an image says about the scheduler in it.
struct About<'a> {
    title: &'a str,
    description: &'a str,
    version: &'a str,
    revision: &'a str,
    licenses: &'a str,
    authors: &'a str,
    vendor: &'a str,
    source: &'a str,
    documentation: &'a str,
}

impl About<'_> {
    fn labels(&self) -> BTreeMap<String, String> {
        let Self {
            title,
            description,
            version,
            revision,
            licenses,
            authors,
            vendor,
            source,
            documentation,
        } = *self;
        let common = [
            ("title", title),
            ("description", description),
            ("version", version),
            ("revision", revision),
            ("licenses", licenses),
            ("authors", authors),
            ("vendor", vendor),
            ("source", source),
            ("documentation", documentation),
            ("created", CREATED),
        ]
        .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()));
        let floor = "org.schedkit.scheduler.kernel.min-version";
        common
            .into_iter()
            .chain([(floor.to_owned(), KERNEL_FLOOR.to_owned())])
            .collect()
    }
}

/// Every file below a folder.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
