//! What an image says about itself. It is compared with nodes in `preflight.rs`.

use schedkit_core::KernelRelease;

/// What was read of an image. Not all of it has to be true: it is reported and decides nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFacts {
    /// `None` if it names none.
    pub min_kernel: Option<KernelRelease>,
    /// Those for which it can run on Linux, as Kubernetes names them (`amd64`). Empty if unknown.
    pub architectures: Vec<String>,
    /// Whether it names a program to start: an entrypoint, or a command, which takes its place.
    pub has_entrypoint: bool,
}
