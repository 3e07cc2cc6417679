//! A login for one registry, and where it was found.

use std::fmt;
use std::path::PathBuf;

use crate::secret::Secret;

/// What authenticates us to a registry.
#[derive(Debug, Clone)]
pub enum Login {
    Anonymous,
    Password {
        user: String,
        password: Secret,
    },
    /// An identity token: the registry's token server exchanges it for access tokens.
    Identity(Secret),
}

/// Where the login of a request was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginSource {
    Nowhere,
    File(PathBuf),
    /// By this name in [`GivenLogins`](super::GivenLogins).
    Given(String),
    /// The part of the helper's name behind `docker-credential-`.
    Helper(String),
}

impl LoginSource {
    pub(in crate::registry) fn remedy(&self) -> &'static str {
        match self {
            Self::Nowhere => "check the name, or log in (`podman login`) if it is not public",
            Self::File(_) | Self::Given(_) | Self::Helper(_) => {
                "check the name and whether the login is still valid"
            }
        }
    }
}

impl fmt::Display for LoginSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => f.write_str("without credentials"),
            Self::File(path) => write!(f, "with the credentials in {}", path.display()),
            Self::Given(name) => write!(f, "with the credentials in {name}"),
            Self::Helper(name) => write!(f, "with the credentials of docker-credential-{name}"),
        }
    }
}
