//! Calls to containerd over one connection, in one namespace, optionally under a lease. Every call has
//! a timeout. Used by all other files of the driver.

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
use super::call_error::{self, CallError};
use crate::driver::{DriverError, Runtime};

/// For connecting, and for the first response.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For a response, on a machine that may be busy.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// containerd's own limit for its responses.
const MAX_RESPONSE: usize = 16 << 20;

/// The namespace of schedctl's containers.
pub(super) const NAMESPACE: &str = "schedkit";

type Transport = InterceptedService<Channel, CallMetadata>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerdVersion {
    /// Such as `1.7.24`.
    pub version: String,
    /// The commit that it was built from.
    pub revision: String,
}

/// Calls that belong to one operation of the driver.
#[derive(Clone, Debug)]
pub(super) struct Session {
    channel: Channel,
    metadata: CallMetadata,
    attempt: String,
}

/// Sent with every call.
#[derive(Clone, Debug)]
pub(super) struct CallMetadata {
    namespace: &'static str,
    lease: Option<MetadataValue<Ascii>>,
}

impl Interceptor for CallMetadata {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let metadata = request.metadata_mut();
        let namespace = MetadataValue::from_static(self.namespace);
        metadata.insert("containerd-namespace", namespace);
        if let Some(lease) = &self.lease {
            metadata.insert("containerd-lease", lease.clone());
        }
        Ok(request)
    }
}

/// Connects and reads the version.
pub(super) async fn connect(socket: &Path) -> Result<(Channel, ContainerdVersion), DriverError> {
    reach(socket).await?;
    let path = socket.to_owned();
    let connector = tower::service_fn(move |_: Uri| open(path.clone()));
    // The address is not used: the connector opens the socket.
    let endpoint = Endpoint::from_static("http://containerd.invalid");
    let channel = endpoint.connect_with_connector_lazy(connector);
    let mut client = VersionClient::new(channel.clone());
    let response = timeout(CONNECT_TIMEOUT, client.version(())).await;
    let response =
        response.map_err(|_| CallError::timeout("report its version", CONNECT_TIMEOUT))?;
    let response = response.map_err(|status| call_error::wrong_service(&status, socket))?;
    let response = response.into_inner();
    let version = ContainerdVersion {
        version: schedkit_core::sanitize::brief(&response.version),
        revision: schedkit_core::sanitize::brief(&response.revision),
    };
    Ok((channel, version))
}

/// Checks that a service listens: a channel does not return the reason when none does.
async fn reach(socket: &Path) -> Result<(), DriverError> {
    let unreachable = |source| DriverError::Unreachable {
        runtime: Runtime::Containerd,
        socket: socket.to_owned(),
        source,
    };
    let reached = timeout(CONNECT_TIMEOUT, UnixStream::connect(socket)).await;
    let reached = reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    reached.map(drop).map_err(unreachable)
}

async fn open(socket: PathBuf) -> io::Result<TokioIo<UnixStream>> {
    UnixStream::connect(socket).await.map(TokioIo::new)
}

impl Session {
    /// `attempt` is a verb phrase for errors: "pull x".
    pub(super) fn new(channel: Channel, namespace: &'static str, attempt: String) -> Self {
        let lease = None;
        let metadata = CallMetadata { namespace, lease };
        Self {
            channel,
            metadata,
            attempt,
        }
    }

    /// The same session, with new objects kept by a lease.
    pub(super) fn with_lease(&self, lease: &str) -> Self {
        let mut session = self.clone();
        session.metadata.lease = lease.parse().ok();
        session
    }

    pub(super) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// One call with the default timeout.
    pub(super) async fn call<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CallError> {
        self.call_within(CALL_TIMEOUT, call).await
    }

    pub(super) async fn call_within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CallError> {
        let response = timeout(limit, call).await;
        let response = response.map_err(|_| CallError::timeout(&self.attempt, limit))?;
        let response = response.map_err(|status| CallError::new(&status, &self.attempt))?;
        Ok(response.into_inner())
    }

    pub(super) fn refused(&self, message: String) -> DriverError {
        DriverError::Refused {
            runtime: Runtime::Containerd,
            attempt: self.attempt.clone(),
            message,
        }
    }

    pub(super) fn containers(&self) -> ContainersClient<Transport> {
        let client =
            ContainersClient::with_interceptor(self.channel.clone(), self.metadata.clone());
        client.max_decoding_message_size(MAX_RESPONSE)
    }

    pub(super) fn content(&self) -> ContentClient<Transport> {
        let client = ContentClient::with_interceptor(self.channel.clone(), self.metadata.clone());
        client.max_decoding_message_size(MAX_RESPONSE)
    }

    pub(super) fn diff(&self) -> DiffClient<Transport> {
        DiffClient::with_interceptor(self.channel.clone(), self.metadata.clone())
    }

    pub(super) fn images(&self) -> ImagesClient<Transport> {
        ImagesClient::with_interceptor(self.channel.clone(), self.metadata.clone())
    }

    pub(super) fn introspection(&self) -> IntrospectionClient<Transport> {
        IntrospectionClient::with_interceptor(self.channel.clone(), self.metadata.clone())
    }

    pub(super) fn leases(&self) -> LeasesClient<Transport> {
        LeasesClient::with_interceptor(self.channel.clone(), self.metadata.clone())
    }

    pub(super) fn snapshots(&self) -> SnapshotsClient<Transport> {
        SnapshotsClient::with_interceptor(self.channel.clone(), self.metadata.clone())
    }

    pub(super) fn tasks(&self) -> TasksClient<Transport> {
        let client = TasksClient::with_interceptor(self.channel.clone(), self.metadata.clone());
        client.max_decoding_message_size(MAX_RESPONSE)
    }
}
