//! The two container runtimes and their sockets.

use std::path::PathBuf;

use schedkit_runtime::driver::Runtime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runtimes {
    pub(crate) chosen: Endpoint,
    pub(crate) other: Endpoint,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) runtime: Runtime,
    pub(crate) socket: PathBuf,
}

impl Runtimes {
    /// The other runtime has its default socket.
    pub(crate) fn new(chosen: Endpoint) -> Self {
        let other = match chosen.runtime {
            Runtime::Podman => Runtime::Containerd,
            Runtime::Containerd => Runtime::Podman,
        };
        Self {
            chosen,
            other: Endpoint {
                runtime: other,
                socket: default_socket(other),
            },
        }
    }

    pub(crate) fn endpoint(&self, runtime: Runtime) -> &Endpoint {
        match self.chosen.runtime == runtime {
            true => &self.chosen,
            false => &self.other,
        }
    }
}

pub(crate) fn default_socket(runtime: Runtime) -> PathBuf {
    PathBuf::from(match runtime {
        Runtime::Podman => "/run/podman/podman.sock",
        Runtime::Containerd => "/run/containerd/containerd.sock",
    })
}

/// The name that `--driver` takes and JSON documents contain.
pub(crate) fn driver_name(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "podman",
        Runtime::Containerd => "containerd",
    }
}
