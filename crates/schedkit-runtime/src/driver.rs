//! The interface to a container runtime.
//!
//! Implemented for Podman, containerd and, in tests, by a recording driver. Every method may be
//! called again after a crash and is cancel-safe: a container that is only partly created has our
//! labels, so that `list` returns it and `end` removes it.

mod error;
mod remedy;

use std::collections::BTreeMap;

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

    /// The image, if it is in the runtime's store, complete, so that `pull` fetches nothing.
    async fn stored_image(&self, image: &PinnedRef) -> Result<Option<ImageInStore>, DriverError>;

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

    /// Ends the container's process with its image's STOPSIGNAL (SIGTERM), and with SIGKILL after the grace period; then keeps
    /// the container for another start or removes it. A container that does not exist is no error.
    async fn end(
        &self,
        id: &ContainerId,
        grace: std::time::Duration,
        after: After,
    ) -> Result<(), DriverError>;
}

impl ImageInStore {
    /// The first source that has a label decides; an empty one counts as none.
    pub(crate) fn new<'a>(sources: impl IntoIterator<Item = &'a BTreeMap<String, String>>) -> Self {
        let mut labels = BTreeMap::new();
        for (key, value) in sources.into_iter().flatten() {
            if !value.trim().is_empty() {
                labels.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Self { labels }
    }
}

/// The output of a container's process with the time of each line.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait TimedOutput {
    /// As [`Driver::output`], and each line begins with its time (RFC 3339) and a space, where the
    /// log has times.
    async fn timed_output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError>;
}

/// What an image in a runtime's store says of itself. Untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageInStore {
    /// Of its configuration; what is not there, from the annotations of its manifests.
    pub labels: BTreeMap<String, String>,
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
