//! What a container runtime does for us.
//!
//! Implemented by Podman, containerd and a recording one for tests. Every method is safe to call
//! again after a crash, and safe to drop while it runs: what is half made carries our labels, is
//! found by `list` and goes with `end`.

mod error;
mod remedy;

use schedkit_image::signature::Trusted;

pub use error::{DriverError, Runtime};

use crate::container::{Container, ContainerId, ExitCode};
use crate::launch::Launch;

/// A container runtime.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Driver {
    /// Has exactly these bytes in the runtime's store; asks a registry only when they are not.
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pulled, DriverError>;

    /// Makes a container of an image that was pulled. Nothing runs yet.
    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError>;

    /// Does everything that a start needs except the start itself, so that the start is short and
    /// what would make it fail is found before.
    async fn ready(&self, id: &ContainerId) -> Result<(), DriverError>;

    /// Starts a container that was created or that has ended.
    async fn start(&self, id: &ContainerId) -> Result<(), DriverError>;

    /// All containers of ours, running or not, the oldest first.
    async fn list(&self) -> Result<Vec<Container>, DriverError>;

    /// What the container's process wrote, from its latest start on. `Until::Exit` goes on until
    /// it ends, and tells how.
    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Option<ExitCode>, DriverError>;

    /// Ends the container's process, SIGTERM first, SIGKILL after the grace; then keeps the
    /// container for another start or removes it with all that belongs to it. A container that is
    /// gone already is no error.
    async fn end(
        &self,
        id: &ContainerId,
        grace: std::time::Duration,
        after: After,
    ) -> Result<(), DriverError>;
}

/// Whether a pull had to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// It was all there.
    Cached,
    /// It was fetched.
    Fetched,
}

/// How far a pull is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many bytes of so many.
    Bytes {
        /// Here.
        received: u64,
        /// In all.
        total: u64,
    },
    /// What the runtime says it does; printable.
    Note(String),
}

/// How long to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// What there is now.
    Now,
    /// Until the process ends.
    Exit,
}

/// What becomes of a container whose process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It can be started again.
    Keep,
    /// It goes.
    Remove,
}

/// Some of what a process wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where to.
    pub stream: Stream,
    /// What; hostile until printed with care.
    pub bytes: &'a [u8],
}

/// Where a process writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}
