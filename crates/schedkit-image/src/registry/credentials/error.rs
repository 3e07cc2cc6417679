//! Why a lookup of credentials failed. No message quotes what a file or a helper holds.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::untrusted::ReadError;

/// Why a lookup of credentials failed. A helper's `name` is the part behind `docker-credential-`.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("{} cannot be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{place} holds no JSON with logins, see line {line}, column {column}")]
    Json {
        /// A file, or the name of what was given.
        place: String,
        line: usize,
        column: usize,
    },
    #[error("{place} has an entry for {host} whose auth is not base64 of NAME:PASSWORD")]
    Entry { place: String, host: String },
    #[error("{} names a credential helper with characters that no helper's name has", path.display())]
    HelperName {
        /// The file that names the helper.
        path: PathBuf,
    },
    #[error("docker-credential-{name} is not installed")]
    NoHelper { name: String },
    #[error("cannot run docker-credential-{name}")]
    HelperRun {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("docker-credential-{name} failed; run `docker-credential-{name} list` to see why")]
    HelperFailed { name: String },
    #[error("docker-credential-{name} did not finish within {limit:?} and was killed")]
    HelperTimeout { name: String, limit: Duration },
    #[error("docker-credential-{name} printed more than {limit} bytes and was killed")]
    HelperTooBig { name: String, limit: usize },
    #[error("docker-credential-{name} printed no login")]
    HelperOutput { name: String },
}
