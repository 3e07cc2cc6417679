//! The registry client, the trait in front of it, and the image documents it reads.
//!
//! ```text
//! client ─▶ manifest, blob, tags, referrers   what is requested
//!             └▶ request                      hosts in order, retries, one challenge per attempt
//!                  └▶ authentication          tokens and passwords
//!                       └▶ http               one request and its redirects
//!                            └▶ transport     connections and TLS
//! ```
//!
//! Each file uses only files further down, and `error`. `download` fetches files that are in no registry,
//! by `http`.

mod authentication;
mod blob;
mod challenge;
mod client;
mod content;
mod credentials;
mod download;
mod endpoint;
mod error;
mod host_config;
mod host_name;
mod http;
mod interface;
mod limits;
mod login;
mod manifest;
mod pages;
mod platform;
mod problem;
mod reach;
mod referrers;
mod request;
mod response;
mod tags;
mod transport;

pub use blob::{Progress, Sink};
pub use challenge::{Bearer, Challenge, ChallengeError, parse as parse_challenge};
pub use client::{Client, ClientConfig};
pub use content::{Content, ContentError, Descriptor, Index, Manifest, Platform};
pub use credentials::{
    Credentials, CredentialsError, DefaultAuthFolders, GivenLogins, Login, LoginFormat, LoginSource,
};
pub use download::FileClient;
pub use error::RegistryError;
pub use host_config::{HostConfig, HostConfigError, Hosts, Mirror, Security, Upstream};
pub use interface::{Document, Registry, resolve};
pub use limits::Limits;
pub use pages::next_page;
pub use platform::{PlatformError, choose};
pub use problem::{BadResponse, ErrorCode, Problem, Retry, SetupError};
pub use reach::{NotPublic, Reach};
pub use transport::Proxies;
