//! Who we are to a registry: what `podman login` and `docker login` left behind. Asked when a
//! registry wants to know and not before, so that public images cost no file and no helper.
//!
//! Which files and where helpers are is said by the program: the environment is not read here.

mod auth_file;
mod helper;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use auth_file::AuthFile;
use schedkit_core::Repository;

use super::error::{CredentialsUsed, RegistryError};
use crate::foreign::{self, ReadError};
use crate::secret::Secret;

/// A machine's logins fit in it many times.
const BIGGEST_FILE: usize = 1024 * 1024;

/// Where logins are kept.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    files: Vec<Place>,
    helper_folders: Vec<PathBuf>,
}

#[derive(Debug, Clone)]
enum Place {
    /// Named by the user: must be there.
    Named(PathBuf),
    /// One of those that are looked at by custom.
    Usual(PathBuf),
}

/// Folders that hold logins by custom.
#[derive(Debug, Clone, Default)]
pub struct UsualPlaces {
    /// `$XDG_RUNTIME_DIR`, holding `containers/auth.json`.
    pub runtime: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME` or `~/.config`, holding `containers/auth.json`.
    pub config: Option<PathBuf>,
    /// `$DOCKER_CONFIG` or `~/.docker`, holding `config.json`.
    pub docker: Option<PathBuf>,
}

/// What we show.
#[derive(Debug, Clone)]
pub enum Login {
    /// Nothing.
    Nobody,
    /// A name and its password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// Exchanged for tokens by the registry's token server.
    Identity(Secret),
}

/// Why logins could not be looked up. Never quotes what a file or helper says.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file.
    #[error("{} cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// Its text.
    #[error("{} is no file of logins, see line {line}, column {column}", path.display())]
    Json {
        /// Which.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// One entry of it.
    #[error("{} has an entry for {host} whose auth is no base64 of NAME:PASSWORD", path.display())]
    Entry {
        /// Which.
        path: PathBuf,
        /// Whose entry.
        host: String,
    },
    /// A helper that is no word.
    #[error("{} names a credential helper that cannot be one", path.display())]
    HelperName {
        /// The file that names it.
        path: PathBuf,
    },
    /// No such program.
    #[error("docker-credential-{name} is not installed")]
    NoHelper {
        /// Behind `docker-credential-`.
        name: String,
    },
    /// It does not run.
    #[error("cannot run docker-credential-{name}")]
    HelperRun {
        /// Behind `docker-credential-`.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It says that it failed.
    #[error("docker-credential-{name} failed; run `docker-credential-{name} list` to see why")]
    HelperFailed {
        /// Behind `docker-credential-`.
        name: String,
    },
    /// It hangs.
    #[error("docker-credential-{name} gave no answer in {limit:?} and was ended")]
    HelperSlow {
        /// Behind `docker-credential-`.
        name: String,
        /// How long we waited.
        limit: Duration,
    },
    /// It floods.
    #[error("docker-credential-{name} answered with more than {limit} bytes and was ended")]
    HelperTooBig {
        /// Behind `docker-credential-`.
        name: String,
        /// As much as we read.
        limit: usize,
    },
    /// It talks nonsense.
    #[error("docker-credential-{name} answered with no login")]
    HelperAnswer {
        /// Behind `docker-credential-`.
        name: String,
    },
}

impl Credentials {
    /// We are nobody, everywhere.
    pub fn none() -> Self {
        Self::default()
    }

    /// The logins of this file and no other; it must be there.
    pub fn from_file(path: PathBuf) -> Self {
        Self {
            files: vec![Place::Named(path)],
            helper_folders: Vec::new(),
        }
    }

    /// The logins of the usual files, as far as they are there: podman's of this session,
    /// podman's, docker's. The first that knows a registry decides.
    pub fn from_usual(places: UsualPlaces) -> Self {
        let UsualPlaces {
            runtime,
            config,
            docker,
        } = places;
        let podman = [runtime, config].into_iter().flatten();
        let podman = podman.map(|folder| folder.join("containers/auth.json"));
        let docker = docker.map(|folder| folder.join("config.json"));
        Self {
            files: podman.chain(docker).map(Place::Usual).collect(),
            helper_folders: Vec::new(),
        }
    }

    /// With credential helpers from these folders (those of `$PATH`).
    #[must_use]
    pub fn with_helpers(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.helper_folders = folders.into_iter().collect();
        self
    }

    /// Who we are to this repository, for a container runtime that asks the registry itself.
    ///
    /// # Errors
    /// When a file or a helper that should know cannot be asked.
    pub async fn login(
        &self,
        repository: &Repository,
        patience: Duration,
    ) -> Result<Login, RegistryError> {
        let host = repository.host().as_str();
        let found = self.find(host, repository.path(), patience).await;
        let (login, _) = found.map_err(|source| RegistryError::Credentials {
            host: host.to_owned(),
            source,
        })?;
        Ok(login)
    }

    /// Who we are to this repository, and who says so.
    pub(super) async fn find(
        &self,
        host: &str,
        path: &str,
        patience: Duration,
    ) -> Result<(Login, CredentialsUsed), CredentialsError> {
        for place in &self.files {
            let Some((file, at)) = place.read()? else {
                continue;
            };
            if let Some(name) = file.helper(host) {
                let name = helper::Name::new(name, at)?;
                let server = auth_file::server_of(host);
                let login = helper::ask(&self.helper_folders, &name, server, patience).await?;
                if let Some(login) = login {
                    return Ok((login, CredentialsUsed::Helper(name.into())));
                }
            }
            let login = file.login(host, path);
            let login = login.map_err(|auth_file::NoLogin { host }| {
                let path = at.to_owned();
                CredentialsError::Entry { path, host }
            })?;
            if let Some(login) = login {
                return Ok((login, CredentialsUsed::File(at.to_owned())));
            }
        }
        Ok((Login::Nobody, CredentialsUsed::None))
    }
}

impl Place {
    fn read(&self) -> Result<Option<(AuthFile, &Path)>, CredentialsError> {
        let (Self::Named(path) | Self::Usual(path)) = self;
        let text = match foreign::read_file(path, BIGGEST_FILE) {
            Ok(text) => Secret::new(text),
            Err(error) if self.may_be_missing(&error) => return Ok(None),
            Err(source) => {
                let path = path.clone();
                return Err(CredentialsError::File { path, source });
            }
        };
        let file = AuthFile::parse(text.expose()).map_err(|error| CredentialsError::Json {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
        })?;
        Ok(Some((file, path)))
    }

    fn may_be_missing(&self, error: &ReadError) -> bool {
        let missing = |error: &io::Error| {
            let kind = error.kind();
            matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        };
        matches!((self, error), (Self::Usual(_), ReadError::Io(error)) if missing(error))
    }
}
