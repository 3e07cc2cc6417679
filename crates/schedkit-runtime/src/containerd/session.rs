//! A conversation with containerd: one connection, one namespace, perhaps one lease, and a limit
//! on every wait. Called by everything in this room that asks containerd something.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Response, Status};

use super::api::containers::containers_client::ContainersClient;
use super::api::content::content_client::ContentClient;
use super::api::diff::diff_client::DiffClient;
use super::api::images::images_client::ImagesClient;
use super::api::introspection::introspection_client::IntrospectionClient;
use super::api::leases::leases_client::LeasesClient;
use super::api::snapshots::snapshots_client::SnapshotsClient;
use super::api::tasks::tasks_client::TasksClient;
use super::api::version::version_client::VersionClient;
use super::fault::{self, Fault};
use crate::driver::{DriverError, Runtime};

/// For a connection, and for the first word.
const GREETING: Duration = Duration::from_secs(10);
/// For an answer that needs a look into a database or a process to be made, on a machine that may
/// be busy.
pub(super) const ANSWER: Duration = Duration::from_secs(60);
/// As large as containerd itself makes its answers.
const BIGGEST_ANSWER: usize = 16 << 20;

type Wire = InterceptedService<Channel, Words>;

/// containerd's own name for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Such as `1.7.24`.
    pub version: String,
    /// The commit it was built from.
    pub revision: String,
}

/// Calls that serve one purpose.
#[derive(Clone, Debug)]
pub(super) struct Session {
    channel: Channel,
    words: Words,
    attempt: String,
}

/// What goes with every call.
#[derive(Clone, Debug)]
pub(super) struct Words {
    namespace: &'static str,
    lease: Option<MetadataValue<Ascii>>,
}

impl Interceptor for Words {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let words = request.metadata_mut();
        let namespace = MetadataValue::from_static(self.namespace);
        words.insert("containerd-namespace", namespace);
        if let Some(lease) = &self.lease {
            words.insert("containerd-lease", lease.clone());
        }
        Ok(request)
    }
}

/// Connects, and asks who is there.
pub(super) async fn connect(socket: &Path) -> Result<(Channel, Version), DriverError> {
    reach(socket).await?;
    let place = socket.to_owned();
    let connector = tower::service_fn(move |_: Uri| open(place.clone()));
    // The address is never looked at; the socket is.
    let endpoint = Endpoint::from_static("http://containerd.invalid");
    let channel = endpoint.connect_with_connector_lazy(connector);
    let mut client = VersionClient::new(channel.clone());
    let answer = timeout(GREETING, client.version(())).await;
    let answer = answer.map_err(|_| Fault::too_slow("say which version it is", GREETING))?;
    let answer = answer.map_err(|status| fault::stranger(&status, socket))?;
    let answer = answer.into_inner();
    let version = Version {
        version: schedkit_core::foreign::brief(&answer.version),
        revision: schedkit_core::foreign::brief(&answer.revision),
    };
    Ok((channel, version))
}

/// That nobody listens is found out here: inside a channel the reason is hard to come by.
async fn reach(socket: &Path) -> Result<(), DriverError> {
    let unreachable = |source| DriverError::Unreachable {
        runtime: Runtime::Containerd,
        socket: socket.to_owned(),
        source,
    };
    let reached = timeout(GREETING, UnixStream::connect(socket)).await;
    let reached = reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    reached.map(drop).map_err(unreachable)
}

async fn open(socket: PathBuf) -> io::Result<TokioIo<UnixStream>> {
    UnixStream::connect(socket).await.map(TokioIo::new)
}

impl Session {
    /// `attempt` is what all of it is for, as the end of a sentence: "pull x".
    pub(super) fn new(channel: Channel, namespace: &'static str, attempt: String) -> Self {
        let lease = None;
        let words = Words { namespace, lease };
        Self {
            channel,
            words,
            attempt,
        }
    }

    /// The same, with everything that is made being held by a lease.
    pub(super) fn under(&self, lease: &str) -> Self {
        let mut session = self.clone();
        session.words.lease = lease.parse().ok();
        session
    }

    /// What it is for.
    pub(super) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// One call, answered within the usual time.
    pub(super) async fn ask<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Fault> {
        self.ask_for(ANSWER, call).await
    }

    /// One call, answered within a time.
    pub(super) async fn ask_for<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Fault> {
        let answer = timeout(limit, call).await;
        let answer = answer.map_err(|_| Fault::too_slow(&self.attempt, limit))?;
        let answer = answer.map_err(|status| Fault::new(&status, &self.attempt))?;
        Ok(answer.into_inner())
    }

    /// It answered, and said no.
    pub(super) fn refused(&self, said: String) -> DriverError {
        DriverError::Refused {
            runtime: Runtime::Containerd,
            attempt: self.attempt.clone(),
            said,
        }
    }

    pub(super) fn containers(&self) -> ContainersClient<Wire> {
        let client = ContainersClient::with_interceptor(self.channel.clone(), self.words.clone());
        client.max_decoding_message_size(BIGGEST_ANSWER)
    }

    pub(super) fn content(&self) -> ContentClient<Wire> {
        let client = ContentClient::with_interceptor(self.channel.clone(), self.words.clone());
        client.max_decoding_message_size(BIGGEST_ANSWER)
    }

    pub(super) fn diff(&self) -> DiffClient<Wire> {
        DiffClient::with_interceptor(self.channel.clone(), self.words.clone())
    }

    pub(super) fn images(&self) -> ImagesClient<Wire> {
        ImagesClient::with_interceptor(self.channel.clone(), self.words.clone())
    }

    pub(super) fn introspection(&self) -> IntrospectionClient<Wire> {
        IntrospectionClient::with_interceptor(self.channel.clone(), self.words.clone())
    }

    pub(super) fn leases(&self) -> LeasesClient<Wire> {
        LeasesClient::with_interceptor(self.channel.clone(), self.words.clone())
    }

    pub(super) fn snapshots(&self) -> SnapshotsClient<Wire> {
        SnapshotsClient::with_interceptor(self.channel.clone(), self.words.clone())
    }

    pub(super) fn tasks(&self) -> TasksClient<Wire> {
        let client = TasksClient::with_interceptor(self.channel.clone(), self.words.clone());
        client.max_decoding_message_size(BIGGEST_ANSWER)
    }
}
