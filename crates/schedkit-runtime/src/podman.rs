//! The driver for Podman 4.0 and later: libpod's REST API on its unix socket.
//!
//! ```text
//! pull.rs  ─┐                  ┌─ target.rs    path and query of a request
//! create.rs ├─▶ client.rs ──▶ ─┤
//! output.rs │   (one request,  └─ response.rs  its result, errors of libpod
//! end.rs   ─┘    one connection)
//!    │  start.rs  when the latest start was
//!    └─ image.rs  pull_stream.rs  spec.rs  listing.rs  inspected.rs  frames.rs: pure
//! ```
//!
//! Every request has its own connection: connecting to a unix socket is cheap, and a cancelled
//! request does not block another one.

mod client;
mod create;
mod end;
mod frames;
mod image;
mod inspected;
mod listing;
mod output;
mod pull;
mod pull_stream;
mod registry_auth;
mod response;
mod spec;
mod start;
mod store;
mod target;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Method;
use schedkit_core::PinnedRef;
use schedkit_core::sanitize::brief;
use schedkit_image::registry::{Credentials, Hosts};
use schedkit_image::signature::Trusted;

pub use self::client::Timeouts;

use self::client::{ApiClient, ApiRequest};
use self::target::Target;
use crate::container::{Container, ContainerId, ExitCode};
use crate::driver::{
    After, Driver, DriverError, ImageInStore, OutputChunk, PullProgress, Pulled, Until,
};
use crate::launch::Launch;
use crate::record::PROVIDER;

#[derive(Debug)]
pub struct Podman {
    client: ApiClient,
    hosts: Hosts,
    logins: Credentials,
}

/// The version of Podman's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodmanVersion(pub String);

impl Podman {
    /// Podman pulls by itself, so it needs the configuration of registries and the logins.
    pub fn new(socket: PathBuf, hosts: Hosts, logins: Credentials) -> Self {
        let client = ApiClient::new(socket, Timeouts::default());
        Self {
            client,
            hosts,
            logins,
        }
    }

    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.client.timeouts = timeouts;
        self
    }
}

/// Checks that Podman responds on this socket.
///
/// # Errors
/// When no service listens, or one that is not Podman.
pub async fn ping(socket: &Path, timeout: Duration) -> Result<PodmanVersion, DriverError> {
    let timeouts = Timeouts {
        response: timeout,
        pull: timeout,
    };
    let client = ApiClient::new(socket.to_owned(), timeouts);
    let request = ApiRequest::new("answer", Method::GET, Target::new(&["_ping"]));
    let response = client.send(request).await?.accepted()?;
    Ok(PodmanVersion(brief(&response.version)))
}

impl Podman {
    /// Sends an action for a container; one that was done before is no error.
    async fn post_action(
        &self,
        id: &ContainerId,
        action: &str,
        attempt: String,
    ) -> Result<(), DriverError> {
        let target = Target::new(&["containers", id.as_str(), action]);
        let request = ApiRequest::new(attempt, Method::POST, target);
        let response = self.client.send(request.about(id)).await?;
        response.accepted_or_done()
    }
}

impl Driver for Podman {
    async fn pull(
        &self,
        image: &Trusted,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        self.ensure_image(image.image(), progress).await
    }

    async fn stored_image(&self, image: &PinnedRef) -> Result<Option<ImageInStore>, DriverError> {
        let stored = self.stored(image).await?;
        Ok(stored.map(|stored| stored.description()))
    }

    async fn create(&self, launch: &Launch) -> Result<ContainerId, DriverError> {
        self.create_container(launch).await
    }

    async fn prepare(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.post_action(id, "init", format!("make {} ready", id.short()))
            .await
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DriverError> {
        self.post_action(id, "start", format!("start {}", id.short()))
            .await
    }

    async fn list(&self) -> Result<Vec<Container>, DriverError> {
        let (key, value) = PROVIDER;
        let ours = serde_json::json!({"label": [format!("{key}={value}")]});
        let target = Target::new(&["containers", "json"]);
        let target = target
            .with("all", "true")
            .with("filters", &ours.to_string());
        let request = ApiRequest::new("list its containers", Method::GET, target);
        let response = self.client.send(request).await?.accepted()?;
        response.parse(listing::parse)
    }

    async fn output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        self.plain_output(id, until, on_output).await
    }

    async fn end(
        &self,
        id: &ContainerId,
        grace: Duration,
        after: After,
    ) -> Result<(), DriverError> {
        self.end_container(id, grace, after).await
    }
}
