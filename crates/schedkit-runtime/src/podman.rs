//! Podman, by libpod's REST API on its unix socket (4.0 and later).
//!
//! ```text
//! pull.rs ─┐                 ┌─ target.rs   what is asked
//! create.rs ├─▶ wire.rs ──▶ ─┤
//! output.rs │   (one call,   └─ reply.rs    what a refusal means
//! end.rs   ─┘    one end)
//!    │
//!    └─ image.rs  pull_stream.rs  spec.rs  listing.rs  inspected.rs  frames.rs: pure
//! ```
//!
//! Every call has its own connection: a unix socket costs nothing, and what is dropped half way
//! leaves no other call behind it.

mod create;
mod end;
mod frames;
mod image;
mod inspected;
mod listing;
mod login;
mod output;
mod pull;
mod pull_stream;
mod reply;
mod spec;
mod target;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Method;
use schedkit_core::foreign::brief;
use schedkit_image::registry::{Credentials, Hosts};
use schedkit_image::signature::Trusted;

use self::target::Target;
use self::wire::{Ask, Wire};
use crate::container::{Container, ContainerId, ExitCode};
use crate::driver::{After, Driver, DriverError, Piece, Progress, Pulled, Until};
use crate::launch::Launch;
use crate::record::PROVIDER;

/// Podman on this machine.
#[derive(Debug)]
pub struct Podman {
    wire: Wire,
    hosts: Hosts,
    logins: Credentials,
}

/// How long we wait.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// For an answer, or for its next piece.
    pub answer: Duration,
    /// For the next word about a pull: Podman is silent while a layer comes in.
    pub pull: Duration,
}

/// Which Podman answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(pub String);

impl Default for Waits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(60),
            pull: Duration::from_secs(3600),
        }
    }
}

impl Podman {
    /// Podman behind this socket. It pulls by itself, so it is told what we know of registries.
    pub fn new(socket: PathBuf, hosts: Hosts, logins: Credentials) -> Self {
        let wire = Wire::new(socket, Waits::default());
        Self {
            wire,
            hosts,
            logins,
        }
    }

    /// With other limits than the usual ones.
    #[must_use]
    pub fn with_waits(mut self, waits: Waits) -> Self {
        self.wire.waits = waits;
        self
    }
}

/// Whether Podman answers at a socket.
///
/// # Errors
/// When nobody does, or somebody else.
pub async fn ping(socket: &Path, patience: Duration) -> Result<Version, DriverError> {
    let waits = Waits {
        answer: patience,
        pull: patience,
    };
    let wire = Wire::new(socket.to_owned(), waits);
    let ask = Ask::new("answer", Method::GET, Target::new(&["_ping"]));
    let answer = wire.whole(ask).await?.accepted()?;
    Ok(Version(brief(&answer.version)))
}

impl Podman {
    /// Has something done to a container that need not be done twice.
    async fn tell(&self, id: &ContainerId, word: &str, attempt: String) -> Result<(), DriverError> {
        let target = Target::new(&["containers", id.as_str(), word]);
        let ask = Ask::new(attempt, Method::POST, target);
        self.wire.whole(ask.about(id)).await?.accepted_or_done()
    }
}

impl Driver for Podman {
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pulled, DriverError> {
        self.have(image.image(), progress).await
    }

    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        self.make(launch).await
    }

    async fn ready(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.tell(id, "init", format!("make {} ready", id.short()))
            .await
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.tell(id, "start", format!("start {}", id.short()))
            .await
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let (key, value) = PROVIDER;
        let ours = serde_json::json!({"label": [format!("{key}={value}")]});
        let target = Target::new(&["containers", "json"]);
        let target = target
            .with("all", "true")
            .with("filters", &ours.to_string());
        let ask = Ask::new("list its containers", Method::GET, target);
        let answer = self.wire.whole(ask).await?.accepted()?;
        answer.read(listing::parse)
    }

    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        self.hear(id, until, take).await
    }

    async fn end(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        self.finish(id, grace, after).await
    }
}
