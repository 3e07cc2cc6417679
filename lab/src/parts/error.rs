//! Why a part cannot be fetched or built.

use std::io;

use super::kernel::KernelError;
use crate::cache::CacheError;
use crate::command::CommandError;
use crate::debian::DebianError;
use crate::disk::DiskError;
use crate::preflight::PreflightError;

#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    #[error(transparent)]
    Debian(#[from] DebianError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("cannot build {part}: {log} has the whole output")]
    Build {
        part: String,
        log: String,
        source: CommandError,
    },
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("cannot write a part of the lab to the cache: check that the disk is not full")]
    Io(#[from] io::Error),
}
