//! Credentials for registries: what `podman login` and `docker login` stored. Read only when a
//! registry sends a challenge, so that public images need no file and no helper.
//!
//! The program says which files and which folders of helpers to use: the environment is not read
//! here.

mod auth_file;
mod error;
mod given;
mod helper;
mod login;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use auth_file::{AuthFile, InvalidEntry};

pub use error::CredentialsError;
pub use given::{GivenLogins, LoginFormat};
pub use login::{Login, LoginSource};

use crate::secret::Secret;
use crate::untrusted::{self, ReadError};

const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Where logins are stored.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// These go before the files.
    given: Vec<GivenLogins>,
    files: Vec<AuthFilePath>,
    helper_folders: Vec<PathBuf>,
}

#[derive(Debug, Clone)]
enum AuthFilePath {
    /// Named by the user: it must exist.
    Required(PathBuf),
    /// A default of podman or docker.
    Optional(PathBuf),
}

/// Folders in which podman and docker store logins by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultAuthFolders {
    /// `$XDG_RUNTIME_DIR/containers`, or else `/run/containers/UID`, holding `auth.json`.
    pub session: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME` or `~/.config`, holding `containers/auth.json`.
    pub config: Option<PathBuf>,
    /// `$DOCKER_CONFIG` or `~/.docker`, holding `config.json`.
    pub docker: Option<PathBuf>,
}

impl Credentials {
    /// No login for any registry.
    pub fn none() -> Self {
        Self::default()
    }

    /// The logins of this file and no other. A missing file is an error at the first lookup.
    pub fn from_file(path: PathBuf) -> Self {
        Self {
            files: vec![AuthFilePath::Required(path)],
            ..Self::default()
        }
    }

    /// The logins of the default files that exist: podman's of this session, podman's, docker's.
    /// The first that has an entry for a registry is used.
    pub fn from_default_files(folders: DefaultAuthFolders) -> Self {
        let DefaultAuthFolders {
            session,
            config,
            docker,
        } = folders;
        let config = config.map(|folder| folder.join("containers"));
        let podman = [session, config].into_iter().flatten();
        let podman = podman.map(|folder| folder.join("auth.json"));
        let docker = docker.map(|folder| folder.join("config.json"));
        Self {
            files: podman.chain(docker).map(AuthFilePath::Optional).collect(),
            ..Self::default()
        }
    }

    /// With credential helpers from these folders (those of `$PATH`).
    #[must_use]
    pub fn with_helpers(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.helper_folders = folders.into_iter().collect();
        self
    }

    /// With these, which go before those of files: the first that has a login for a repository is used.
    #[must_use]
    pub fn with_given(mut self, logins: impl IntoIterator<Item = GivenLogins>) -> Self {
        self.given.extend(logins);
        self
    }

    /// The login for a repository, and where it was found. A helper gets `timeout`.
    pub(super) async fn find(
        &self,
        host: &str,
        path: &str,
        timeout: Duration,
    ) -> Result<(Login, LoginSource), CredentialsError> {
        for given in &self.given {
            if let Some(login) = given.login(host, path)? {
                return Ok((login, LoginSource::Given(given.name().to_owned())));
            }
        }
        for candidate in &self.files {
            let Some((file, file_path)) = candidate.read()? else {
                continue;
            };
            if let Some(name) = file.helper(host) {
                let name = helper::Name::new(name, file_path)?;
                let server = auth_file::server_of(host);
                let login = helper::get(&self.helper_folders, &name, server, timeout).await?;
                if let Some(login) = login {
                    return Ok((login, LoginSource::Helper(name.into())));
                }
            }
            let login = file.login(host, path);
            let login = login.map_err(|InvalidEntry { host }| {
                let place = file_path.display().to_string();
                CredentialsError::Entry { place, host }
            })?;
            if let Some(login) = login {
                return Ok((login, LoginSource::File(file_path.to_owned())));
            }
        }
        Ok((Login::Anonymous, LoginSource::Nowhere))
    }
}

impl AuthFilePath {
    fn read(&self) -> Result<Option<(AuthFile, &Path)>, CredentialsError> {
        let (Self::Required(path) | Self::Optional(path)) = self;
        let text = match untrusted::read_file(path, MAX_FILE_BYTES) {
            Ok(text) => Secret::new(text),
            Err(error) if self.may_be_missing(&error) => return Ok(None),
            Err(source) => {
                let path = path.clone();
                return Err(CredentialsError::File { path, source });
            }
        };
        let file = AuthFile::parse(text.expose()).map_err(|error| CredentialsError::Json {
            place: path.display().to_string(),
            line: error.line(),
            column: error.column(),
        })?;
        Ok(Some((file, path)))
    }

    fn may_be_missing(&self, error: &ReadError) -> bool {
        let is_missing = |error: &io::Error| {
            let kind = error.kind();
            matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        };
        matches!((self, error), (Self::Optional(_), ReadError::Io(error)) if is_missing(error))
    }
}
