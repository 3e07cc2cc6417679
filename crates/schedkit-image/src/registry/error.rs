//! Why a registry gave no answer, or none that can be used.
//!
//! Each error names what was asked and of whom, and the remedy when there is one. None carries an
//! address with its query, an answer's own words or a credential: a presigned address is a
//! password, and a hostile answer can repeat ours.

mod cause;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use cause::{Malformation, SetupError};
use schedkit_core::Digest;

use super::credentials::CredentialsError;
use super::endpoint::name_of;

/// Why a registry gave no answer, or none that can be used. Each names what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The registry answers and has no such thing.
    #[error("{what} is not there; is its name right?")]
    NotFound {
        /// A reference, or a repository, and who was asked for it.
        what: String,
    },
    /// The registry, or the server that gives out its tokens, does not let us.
    #[error("{host} does not let us read {what}{said}: we came {used}; {}", used.remedy())]
    Unauthorized {
        /// What was asked for.
        what: String,
        /// Who refused.
        host: String,
        /// Whom we came as.
        used: CredentialsUsed,
        /// The registry's reason.
        said: Said,
    },
    /// Credentials are needed, and finding them failed.
    #[error("cannot look up credentials for {host}")]
    Credentials {
        /// Who asked for them.
        host: String,
        /// What failed.
        #[source]
        source: CredentialsError,
    },
    /// No connection.
    #[error("cannot connect to {host} to ask for {what}; is its name right, and does it run?")]
    Unreachable {
        /// What was asked for.
        what: String,
        /// Who does not answer.
        host: String,
        /// What the connection says.
        #[source]
        source: Box<reqwest::Error>,
    },
    /// The connection ended before the answer did.
    #[error("the connection to {host} broke while it was asked for {what}")]
    Cut {
        /// What was asked for.
        what: String,
        /// Who hung up.
        host: String,
        /// What the connection says.
        #[source]
        source: Box<reqwest::Error>,
    },
    /// A connection that cannot be trusted.
    #[error(
        "no trusted connection to {host}; name its certificate authority (`ca`) or, if it has no TLS at all, say so (`security = \"plain-http\"`) in section `[registry.\"{}\"]` of the settings",
        name_of(host)
    )]
    Tls {
        /// Whose certificate, or lack of one, it is.
        host: String,
        /// What is wrong with it.
        #[source]
        source: Box<reqwest::Error>,
    },
    /// Our own side of the connection cannot be made.
    #[error("cannot prepare a connection to {host}")]
    Setup {
        /// For whom.
        host: String,
        /// What is wrong.
        #[source]
        source: SetupError,
    },
    /// More than anything of this kind needs.
    #[error("{what} at {host} has more than {limit} bytes")]
    TooBig {
        /// What was asked for.
        what: String,
        /// Who sends it.
        host: String,
        /// As much as we read.
        limit: u64,
    },
    /// A list without an end.
    #[error("{host} lists more than {limit} {of} as {what}")]
    TooMany {
        /// What was asked for.
        what: String,
        /// Who sends it.
        host: String,
        /// As many as we take.
        limit: usize,
        /// Pages, tags, referrers.
        of: &'static str,
    },
    /// Other content than was asked for.
    #[error("{host} sent other content as {what}: its digest is {found}, not {expected}")]
    WrongDigest {
        /// What was asked for.
        what: String,
        /// Who sent it.
        host: String,
        /// What was asked for.
        expected: Digest,
        /// What came.
        found: Digest,
    },
    /// Content of another size than its descriptor says.
    #[error("{host} sent {what} with {found} bytes, not {expected}")]
    WrongLength {
        /// What was asked for.
        what: String,
        /// Who sent it.
        host: String,
        /// As its descriptor has it.
        expected: u64,
        /// As it came; when it was cut off, at least this many.
        found: u64,
    },
    /// Our patience ended.
    #[error("{host} did not answer in {limit:?} when asked for {what}")]
    TooSlow {
        /// What was asked for.
        what: String,
        /// Who is slow.
        host: String,
        /// How long we waited.
        limit: Duration,
    },
    /// Too many questions.
    #[error(
        "{host} takes no more questions for now ({what}){}; credentials often raise the limit",
        Wait(*wait)
    )]
    RateLimited {
        /// What was asked for.
        what: String,
        /// Who is tired of us.
        host: String,
        /// How long it wants to be left alone.
        wait: Option<Duration>,
    },
    /// The registry has trouble of its own, or does not understand us.
    #[error("{host} answered {status}{said} when asked for {what}")]
    Server {
        /// What was asked for.
        what: String,
        /// Who answered.
        host: String,
        /// The HTTP status.
        status: u16,
        /// Its reason.
        said: Said,
        /// How long it wants to be left alone.
        wait: Option<Duration>,
    },
    /// An answer that cannot be understood.
    #[error("{host} gave an answer to {what} that cannot be used")]
    Malformed {
        /// What was asked for.
        what: String,
        /// Who answered.
        host: String,
        /// What is wrong with it.
        #[source]
        reason: Malformation,
    },
    /// Sent from place to place.
    #[error("{host} was asked for {what} and redirects without end")]
    RedirectLoop {
        /// What was asked for.
        what: String,
        /// Who was asked first.
        host: String,
    },
    /// From a protected connection to an open one.
    #[error("{host} was asked for {what} and points to {to}, an address without TLS: not followed")]
    Downgrade {
        /// What was asked for.
        what: String,
        /// Who points there.
        host: String,
        /// The host it points to.
        to: String,
    },
    /// The blob arrived and could not be kept.
    #[error("cannot write {what}")]
    Sink {
        /// What was fetched.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Mirrors failed, and then the registry itself.
    #[error("no mirror could be used ({})", Mirrors(mirrors))]
    Everywhere {
        /// The mirrors, in the order they were asked.
        mirrors: Vec<RegistryError>,
        /// The last that was asked.
        #[source]
        last: Box<RegistryError>,
    },
}

/// What to expect from the same question later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same answer.
    Never,
    /// Perhaps a better one, after a while.
    Backoff,
    /// A better one, says the registry, after this time.
    After(Duration),
}

impl RegistryError {
    /// What to expect from the same question later.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unreachable { .. } | Self::Cut { .. } | Self::TooSlow { .. } => Retry::Backoff,
            Self::RateLimited { wait, .. } => wait.map_or(Retry::Backoff, Retry::After),
            Self::Server {
                status: 500 | 502 | 503 | 504,
                wait,
                ..
            } => wait.map_or(Retry::Backoff, Retry::After),
            Self::Everywhere { last, .. } => last.retry(),
            Self::NotFound { .. }
            | Self::Unauthorized { .. }
            | Self::Credentials { .. }
            | Self::Tls { .. }
            | Self::Setup { .. }
            | Self::TooBig { .. }
            | Self::TooMany { .. }
            | Self::WrongDigest { .. }
            | Self::WrongLength { .. }
            | Self::Server { .. }
            | Self::Malformed { .. }
            | Self::RedirectLoop { .. }
            | Self::Downgrade { .. }
            | Self::Sink { .. } => Retry::Never,
        }
    }

    /// Says with what is missing who misses it: among mirrors, a reference does not tell.
    pub(super) fn not_found(what: &str, host: &str) -> Self {
        let what = format!("{what} at {host}");
        Self::NotFound { what }
    }

    /// Whether a registry that answers says that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

/// Whom we came as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialsUsed {
    /// As anybody.
    None,
    /// As somebody of whom a file knows.
    File(PathBuf),
    /// As somebody of whom a credential helper knows.
    Helper(String),
}

impl CredentialsUsed {
    fn remedy(&self) -> &'static str {
        match self {
            Self::None => "check its name, or log in (`podman login`) if it is not public",
            Self::File(_) | Self::Helper(_) => "check its name and whether the login still holds",
        }
    }
}

impl fmt::Display for CredentialsUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("without credentials"),
            Self::File(path) => write!(f, "with the credentials in {}", path.display()),
            Self::Helper(name) => write!(f, "with the credentials of docker-credential-{name}"),
        }
    }
}

/// The code of a registry's error, such as `DENIED`. Its message is not kept: it can repeat what
/// we sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said(Option<String>);

impl Said {
    /// Capital letters and `_` only; anything else was not meant as a code.
    pub(super) fn code(text: &str) -> Self {
        let letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        let good = (1..=40).contains(&text.len()) && text.bytes().all(letter);
        Self(good.then(|| text.to_owned()))
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}

struct Wait(Option<Duration>);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, ", try again in {} s", wait.as_secs()),
            None => Ok(()),
        }
    }
}

struct Mirrors<'a>(&'a [RegistryError]);

impl fmt::Display for Mirrors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.0.iter().enumerate() {
            let between = if place == 0 { "" } else { "; " };
            write!(f, "{between}{error}")?;
        }
        Ok(())
    }
}
