//! Errors of the drivers.

use std::fmt;
use std::io;
use std::path::PathBuf;

use schedkit_image::registry::RegistryError;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    Podman,
    Containerd,
}

/// `attempt` is a verb phrase: "pull x", "start it".
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("{runtime} cannot be reached at {}", socket.display())]
    Unreachable {
        runtime: Runtime,
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another service listens on the socket.
    #[error("what answers at {} is not {runtime}: {response}", socket.display())]
    WrongService {
        runtime: Runtime,
        socket: PathBuf,
        /// Shortened and printable.
        response: String,
    },
    #[error("{runtime} could not {attempt}: {message}")]
    Refused {
        runtime: Runtime,
        attempt: String,
        /// The runtime's message; shortened and printable.
        message: String,
    },
    #[error("{runtime} did not {attempt} within {seconds} s")]
    Timeout {
        runtime: Runtime,
        attempt: String,
        seconds: u64,
    },
    /// The connection broke during a response.
    #[error("the connection to {runtime} broke: cannot {attempt}")]
    Disconnected {
        runtime: Runtime,
        attempt: String,
        #[source]
        source: io::Error,
    },
    #[error("no space is left on {runtime}'s disk: cannot {attempt}")]
    NoSpace { runtime: Runtime, attempt: String },
    #[error("{runtime} has no container {id}")]
    NoContainer { runtime: Runtime, id: String },
    /// The image has neither an entrypoint nor a command.
    #[error("{image} has no entrypoint")]
    NoEntrypoint { image: String },
    /// The image is for another architecture.
    #[error("{image} was made for {made_for}, and this machine is {machine}")]
    Architecture {
        image: String,
        made_for: String,
        machine: String,
    },
    /// A folder that the scheduler needs cannot be created.
    #[error("cannot make {} for the scheduler", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file with the scheduler's output cannot be used.
    #[error("cannot keep the scheduler's output in {}", path.display())]
    Log {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The image's manifest, configuration and layers do not match.
    #[error("{image} cannot be used: {reason}")]
    InvalidImage {
        image: String,
        /// Shortened and printable.
        reason: String,
    },
    /// The registry did not provide the image.
    #[error("cannot pull {image}")]
    Registry {
        image: String,
        #[source]
        source: Box<RegistryError>,
    },
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Podman => "Podman",
            Self::Containerd => "containerd",
        })
    }
}
