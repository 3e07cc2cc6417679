//! Why a runtime did not do it, and what to do about that.

use std::fmt;
use std::io;
use std::path::PathBuf;

use schedkit_image::registry::RegistryError;
use serde::{Deserialize, Serialize};

/// Which runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Podman.
    Podman,
    /// containerd.
    Containerd,
}

/// What did not work. What was attempted is the end of a sentence: "pull x", "start it".
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// Nobody listens, or we may not speak.
    #[error("{runtime} cannot be reached at {}", socket.display())]
    Unreachable {
        /// Who.
        runtime: Runtime,
        /// Where.
        socket: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody listens who does not speak this protocol.
    #[error("what answers at {} is not {runtime}: {said}", socket.display())]
    Stranger {
        /// Who was expected.
        runtime: Runtime,
        /// Where.
        socket: PathBuf,
        /// What it said; brief and printable.
        said: String,
    },
    /// It answered no.
    #[error("{runtime} could not {attempt}: {said}")]
    Refused {
        /// Who.
        runtime: Runtime,
        /// What.
        attempt: String,
        /// Why, in its words; brief and printable.
        said: String,
    },
    /// It did not answer in time.
    #[error("{runtime} did not {attempt} within {seconds} s")]
    TooSlow {
        /// Who.
        runtime: Runtime,
        /// What.
        attempt: String,
        /// How long we waited.
        seconds: u64,
    },
    /// The connection broke in the middle of an answer.
    #[error("the connection to {runtime} broke: cannot {attempt}")]
    Cut {
        /// Who.
        runtime: Runtime,
        /// What.
        attempt: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The disk is full.
    #[error("no space is left on {runtime}'s disk: cannot {attempt}")]
    NoSpace {
        /// Whose.
        runtime: Runtime,
        /// What.
        attempt: String,
    },
    /// No such container.
    #[error("{runtime} has no container {id}")]
    NoContainer {
        /// Who.
        runtime: Runtime,
        /// Which.
        id: String,
    },
    /// An image that does not say what to run.
    #[error("{image} has no entrypoint")]
    NoEntrypoint {
        /// Which.
        image: String,
    },
    /// An image for other machines.
    #[error("{image} was made for {made_for}, and this machine is {machine}")]
    Architecture {
        /// Which.
        image: String,
        /// Its own.
        made_for: String,
        /// Ours.
        machine: String,
    },
    /// A folder that the scheduler needs.
    #[error("cannot make {} for the scheduler", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file that keeps what the scheduler writes.
    #[error("cannot keep the scheduler's output in {}", path.display())]
    Log {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An image whose parts do not fit together.
    #[error("{image} cannot be used: {reason}")]
    Broken {
        /// Which.
        image: String,
        /// Why; brief and printable.
        reason: String,
    },
    /// The registry did not give it.
    #[error("cannot pull {image}")]
    Registry {
        /// Which.
        image: String,
        /// Why.
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
