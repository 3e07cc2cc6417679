//! Where the container runtimes listen, and the one place that knows which driver belongs to
//! which. Called by the commands that look; what is done with a container is not decided here.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use schedctl_args::args::DriverName;
use schedkit_host::preflight::Reachability;
use schedkit_image::registry::{self, Credentials, Hosts, Limits, Proxies};
use schedkit_runtime::driver::Runtime;
use schedkit_runtime::{Container, Driver, DriverError, containerd, podman};
use tokio::time::timeout;

use crate::drivers::open;
use crate::status::Held;

/// Somebody who lives on the same machine and has not answered by then is not well. A machine under
/// load needs seconds, and that is when schedulers are looked at.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Both runtimes, the one that was chosen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtimes {
    pub(crate) chosen: Place,
    pub(crate) other: Place,
}

/// A runtime and where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) runtime: Runtime,
    pub(crate) socket: PathBuf,
}

/// All containers of ours, as far as they could be seen.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) ours: Vec<Held>,
    /// Why the chosen runtime told nothing.
    pub(crate) blind: Option<DriverError>,
    /// Why the other one told nothing although it is there.
    pub(crate) half_blind: Option<DriverError>,
}

impl Runtimes {
    /// The other one is where it usually is.
    pub(crate) fn new(chosen: Runtime, socket: PathBuf) -> Self {
        let other = match chosen {
            Runtime::Podman => Runtime::Containerd,
            Runtime::Containerd => Runtime::Podman,
        };
        Self {
            chosen: Place {
                runtime: chosen,
                socket,
            },
            other: Place {
                runtime: other,
                socket: usual_socket(other),
            },
        }
    }

    /// Where that one is.
    pub(crate) fn place(&self, runtime: Runtime) -> &Place {
        match self.chosen.runtime == runtime {
            true => &self.chosen,
            false => &self.other,
        }
    }
}

/// Where a runtime listens on most machines.
pub(crate) fn usual_socket(runtime: Runtime) -> PathBuf {
    PathBuf::from(match runtime {
        Runtime::Podman => "/run/podman/podman.sock",
        Runtime::Containerd => "/run/containerd/containerd.sock",
    })
}

/// Whom a word of ours means.
pub(crate) fn runtime_of(name: DriverName) -> Runtime {
    match name {
        DriverName::Podman => Runtime::Podman,
        DriverName::Containerd => Runtime::Containerd,
    }
}

/// As documents name it.
pub(crate) fn name_of(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "podman",
        Runtime::Containerd => "containerd",
    }
}

/// Whether somebody answers there.
pub(crate) async fn probe(place: &Place) -> Reachability {
    let begun = Instant::now();
    let ping = async {
        match place.runtime {
            Runtime::Podman => podman::ping(&place.socket, PATIENCE).await.map(drop),
            Runtime::Containerd => containerd::ping(&place.socket).await.map(drop),
        }
    };
    let reach = match timeout(PATIENCE, ping).await {
        Ok(Ok(())) => Reachability::Reachable,
        Ok(Err(DriverError::Unreachable { source, .. })) => {
            Reachability::Unreachable(source.to_string())
        }
        Ok(Err(error)) => Reachability::Unreachable(error.to_string()),
        Err(_) => {
            Reachability::Unreachable(format!("nobody answered within {} s", PATIENCE.as_secs()))
        }
    };
    let runtime = place.runtime;
    let socket = place.socket.display();
    tracing::debug!(
        "{runtime} at {socket}: {reach:?} after {:?}",
        begun.elapsed()
    );
    reach
}

/// All containers of ours there, running or not.
pub(crate) async fn list(place: &Place) -> Result<Vec<Container>, DriverError> {
    let Place { runtime, socket } = place;
    tracing::info!(
        "asking {runtime} at {} for our containers",
        socket.display()
    );
    // A list asks no registry, so nothing need be known of any.
    let registry = registry::ClientConfig {
        hosts: Hosts::default(),
        credentials: Credentials::none(),
        proxies: Proxies::default(),
        limits: Limits::default(),
    };
    open(place, &registry).list().await
}

/// Asks both at once. The chosen one must answer; the other is asked so that nothing of ours is
/// overlooked, and need not be there. `patience` is for the other one.
pub(crate) async fn survey(
    runtimes: &Runtimes,
    patience: Duration,
    list: impl AsyncFn(&Place) -> Result<Vec<Container>, DriverError>,
) -> Sight {
    let Runtimes { chosen, other } = runtimes;
    let (first, second) = tokio::join!(list(chosen), timeout(patience, list(other)));
    let second = match second {
        Ok(answer) => answer,
        Err(_) => Err(DriverError::Timeout {
            runtime: other.runtime,
            attempt: "list its containers".to_owned(),
            seconds: patience.as_secs(),
        }),
    };
    let mut ours = Vec::new();
    let mut take = |place: &Place, answer: Result<Vec<Container>, DriverError>| match answer {
        Ok(containers) => {
            let runtime = place.runtime;
            let held = |container| Held { runtime, container };
            ours.extend(containers.into_iter().map(held));
            None
        }
        Err(error) => Some(error),
    };
    let blind = take(chosen, first);
    let half_blind = take(other, second).filter(|error| !is_not_there(error));
    Sight {
        ours,
        blind,
        half_blind,
    }
}

/// Whether there is no such runtime on this machine, or it is switched off.
pub(crate) fn is_not_there(error: &DriverError) -> bool {
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
