//! The interface to a container runtime.
//!
//! Implemented for Podman, containerd and, in tests, by a recording driver. Every method may be
//! called again after a crash and is cancel-safe: a container that is only partly created has our
//! labels, so that `list` returns it and `end` removes it.

mod error;
mod remedy;

use schedkit_core::PinnedRef;
use schedkit_image::signature::Trusted;

pub use error::{DriverError, Runtime};

use crate::container::{Container, ContainerId, ExitCode};
use crate::launch::Launch;

#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Driver {
    /// Ensures that the image is in the runtime's store; pulls it only when it is not.
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError>;

    /// Whether the image is in the runtime's store, complete, so that `pull` fetches nothing.
    async fn has_image(&self, image: &PinnedRef) -> Result<bool, DriverError>;

    /// Creates a container of a pulled image without starting it.
    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError>;

    /// Prepares the start, so that the start itself is short and most failures happen before it.
    async fn prepare(&self, id: &ContainerId) -> Result<(), DriverError>;

    /// Starts a container that was created or that has ended.
    async fn start(&self, id: &ContainerId) -> Result<(), DriverError>;

    /// All containers of schedctl, running or not, the oldest first.
    async fn list(&self) -> Result<Vec<Container>, DriverError>;

    /// Passes on the output of the container's process since its latest start. With `Until::Exit` it
    /// continues until the process exits, and returns the exit code.
    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError>;

    /// Ends the container's process with SIGTERM, and with SIGKILL after the grace period; then keeps
    /// the container for another start or removes it. A container that does not exist is no error.
    async fn end(
        &self,
        id: &ContainerId,
        grace: std::time::Duration,
        after: After,
    ) -> Result<(), DriverError>;
}

/// The result of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// The image was in the store.
    Cached,
    Fetched,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullProgress {
    Bytes {
        received: u64,
        total: u64,
    },
    /// A message of the runtime; printable.
    Note(String),
}

/// How long to follow the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Only the present output.
    Now,
    Exit,
}

/// What becomes of a container whose process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Keep,
    Remove,
}

/// A part of the output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputChunk<'a> {
    pub stream: OutputStream,
    /// Untrusted: sanitize before printing.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    Stdout,
    Stderr,
}
