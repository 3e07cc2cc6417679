//! Scheduler images: scx_lab with its faults, and schedulers that others wrote.
//!
//! An image has the program, its shared libraries (none if it is static), and the labels that
//! scheduler images carry.

mod image_labels;
mod scx_lab;
mod third_party;

use std::path::PathBuf;

use super::error::PartError;
use super::registry_image::RegistryImage;
use crate::cache::Cache;
use crate::progress::Reporter;
use crate::spec::{LabSpec, Scheduler};

/// The packages that building schedulers needs.
pub const PACKAGES: &[&str] = &[
    "clang-19",
    "gcc",
    "libc6-dev",
    "libclang-19-dev",
    "libelf-dev",
    "make",
    "pkg-config",
    "zlib1g-dev",
];

/// Packages that cross-compile them for arm64.
pub const ARM64_PACKAGES: &[&str] = &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];

pub fn is_missing(cache: &Cache, spec: &LabSpec, scheduler: Scheduler) -> bool {
    match scheduler {
        Scheduler::ScxLab => scx_lab::is_missing(cache, spec),
        Scheduler::ScxBpfland => third_party::BPFLAND.is_missing(cache),
        Scheduler::ScxLavd => third_party::LAVD.is_missing(cache),
        Scheduler::ScxRusty => third_party::RUSTY.is_missing(cache),
    }
}

/// A scheduler's images; builds its program if the cache does not have it.
pub fn images(
    cache: &Cache,
    spec: &LabSpec,
    scheduler: Scheduler,
    reporter: &Reporter,
) -> Result<Vec<RegistryImage>, PartError> {
    match scheduler {
        Scheduler::ScxLab => scx_lab::images(cache, spec, reporter),
        Scheduler::ScxBpfland => third_party::BPFLAND.images(cache, reporter),
        Scheduler::ScxLavd => third_party::LAVD.images(cache, reporter),
        Scheduler::ScxRusty => third_party::RUSTY.images(cache, reporter),
    }
}

/// The static scx_lab program for this machine's processor, if the cache has it: it also runs
/// without containers.
pub fn own_program(cache: &Cache) -> Option<PathBuf> {
    scx_lab::find_program(cache)
}
