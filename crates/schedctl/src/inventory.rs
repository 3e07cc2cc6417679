//! Which runtimes can be reached, and which containers of schedctl they have. Reads only.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use schedkit_host::preflight::Reachability;
use schedkit_image::registry::{self, Credentials, Hosts, Limits, Proxies};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, Driver, DriverError, containerd, podman};
use tokio::time::timeout;

use crate::container::RuntimeContainer;
use crate::drivers::open;
use crate::runtimes::{Endpoint, Runtimes};

/// For requests that only read. A machine under load needs seconds to answer.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Inventory {
    pub(crate) containers: Vec<RuntimeContainer>,
    /// Whose containers are known.
    pub(crate) answered: Vec<Runtime>,
    /// Why the containers of the chosen runtime are unknown.
    pub(crate) chosen_error: Option<DriverError>,
    /// Why those of the other runtime are unknown although it is installed.
    pub(crate) other_error: Option<DriverError>,
}

pub(crate) async fn probe(endpoint: &Endpoint) -> Reachability {
    let begun = Instant::now();
    let Endpoint { runtime, socket } = endpoint;
    let ping = async {
        match runtime {
            Runtime::Podman => podman::ping(socket, READ_TIMEOUT).await.map(drop),
            Runtime::Containerd => containerd::ping(socket).await.map(drop),
        }
    };
    let reach = match timeout(READ_TIMEOUT, ping).await {
        Ok(Ok(())) => Reachability::Reachable,
        Ok(Err(DriverError::Unreachable { source, .. })) => {
            Reachability::Unreachable(source.to_string())
        }
        Ok(Err(error)) => Reachability::Unreachable(error.to_string()),
        Err(_) => {
            Reachability::Unreachable(format!("no answer within {} s", READ_TIMEOUT.as_secs()))
        }
    };
    tracing::debug!(
        "{runtime} at {}: {reach:?} after {:?}",
        socket.display(),
        begun.elapsed()
    );
    reach
}

/// schedctl's containers in one runtime, running or not.
pub(crate) async fn list(endpoint: &Endpoint) -> Result<Vec<Container>, DriverError> {
    let Endpoint { runtime, socket } = endpoint;
    tracing::info!(
        "listing schedctl's containers of {runtime} at {}",
        socket.display()
    );
    // Listing needs no registry.
    let registry = registry::ClientConfig {
        hosts: Hosts::default(),
        credentials: Credentials::none(),
        proxies: Proxies::default(),
        limits: Limits::default(),
    };
    open(endpoint, &registry).list().await
}

/// Lists the containers of both runtimes, which have to answer within the limit. The other one need
/// not be installed.
pub(crate) async fn list_both(
    runtimes: &Runtimes,
    limit: Duration,
    list: impl AsyncFn(&Endpoint) -> Result<Vec<Container>, DriverError>,
) -> Inventory {
    let Runtimes { chosen, other } = runtimes;
    let first = within(limit, chosen, list(chosen));
    let (first, second) = tokio::join!(first, within(limit, other, list(other)));
    let mut containers = Vec::new();
    let mut answered = Vec::new();
    let mut take = |runtime, answer| match answer {
        Ok(found) => {
            answered.push(runtime);
            containers.extend(RuntimeContainer::list(runtime, found));
            None
        }
        Err(error) => Some(error),
    };
    let chosen_error = take(chosen.runtime, first);
    let other_error = take(other.runtime, second).filter(|error| !is_not_installed(error));
    Inventory {
        containers,
        answered,
        chosen_error,
        other_error,
    }
}

/// A runtime that hangs is one that does not answer.
pub(crate) async fn within(
    limit: Duration,
    endpoint: &Endpoint,
    listing: impl Future<Output = Result<Vec<Container>, DriverError>>,
) -> Result<Vec<Container>, DriverError> {
    timeout(limit, listing).await.unwrap_or_else(|_| {
        Err(DriverError::Timeout {
            runtime: endpoint.runtime,
            attempt: "list its containers".to_owned(),
            seconds: limit.as_secs(),
        })
    })
}

/// Whether nothing listens at the socket: the runtime is not installed, or is stopped.
pub(crate) fn is_not_installed(error: &DriverError) -> bool {
    let DriverError::Unreachable { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests;
