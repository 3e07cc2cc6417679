//! `Credentials::login`: the login for a container runtime that sends its own requests to the
//! registry. In a file of its own because its error is the registry client's, which itself holds
//! errors of `credentials`.

use std::time::Duration;

use schedkit_core::Repository;

use super::credentials::{Credentials, Login};
use super::error::RegistryError;
use super::problem::Problem;

impl Credentials {
    /// The login for this repository. A credential helper gets `timeout`.
    ///
    /// # Errors
    /// When a file or a helper that should know the login fails.
    pub async fn login(
        &self,
        repository: &Repository,
        timeout: Duration,
    ) -> Result<Login, RegistryError> {
        let host = repository.host().as_str();
        match self.find(host, repository.path(), timeout).await {
            Ok((login, _)) => Ok(login),
            Err(error) => {
                let request = repository.to_string();
                Err(RegistryError::new(
                    request,
                    host,
                    Problem::Credentials(error),
                ))
            }
        }
    }
}
