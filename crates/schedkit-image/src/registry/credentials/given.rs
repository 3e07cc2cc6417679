//! Logins that a program has read from elsewhere, as from a Secret of Kubernetes. They name no helper:
//! whoever wrote them must not choose a program that runs here.

use std::fmt;
use std::sync::Arc;

use super::auth_file::{AuthFile, InvalidEntry};
use super::error::CredentialsError;
use super::login::Login;
use crate::secret::Secret;

/// How logins are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFormat {
    /// `config.json` of docker, `auth.json` of podman, `.dockerconfigjson`.
    Config,
    /// `.dockercfg`: hosts and their logins, with nothing around them.
    OldConfig,
}

/// Logins, and what messages call them.
#[derive(Clone)]
pub struct GivenLogins {
    name: String,
    logins: Arc<AuthFile>,
}

impl GivenLogins {
    /// # Errors
    /// When the text holds no logins; the error does not quote it.
    pub fn parse(
        name: String,
        format: LoginFormat,
        text: &Secret,
    ) -> Result<Self, CredentialsError> {
        let parsed = match format {
            LoginFormat::Config => AuthFile::parse(text.expose()),
            LoginFormat::OldConfig => AuthFile::parse_old(text.expose()),
        };
        match parsed {
            Ok(logins) => Ok(Self {
                name,
                logins: Arc::new(logins),
            }),
            Err(error) => Err(CredentialsError::Json {
                place: name,
                line: error.line(),
                column: error.column(),
            }),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn login(&self, host: &str, path: &str) -> Result<Option<Login>, CredentialsError> {
        let invalid = |InvalidEntry { host }| CredentialsError::Entry {
            place: self.name.clone(),
            host,
        };
        self.logins.login(host, path).map_err(invalid)
    }
}

impl fmt::Debug for GivenLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenLogins")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::registry::credentials::{Credentials, LoginSource};

    fn given(name: &str, format: LoginFormat, text: &str) -> Result<GivenLogins, String> {
        let text = Secret::new(text.to_owned());
        GivenLogins::parse(name.to_owned(), format, &text).map_err(|error| error.to_string())
    }

    async fn found(credentials: &Credentials, host: &str) -> String {
        match credentials.find(host, "x", Duration::ZERO).await {
            Ok((Login::Password { user, .. }, LoginSource::Given(name))) => {
                format!("{user} of {name}")
            }
            Ok((_, source)) => source.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn what_is_given_goes_before_files_and_starts_no_helper() {
        let new = r#"{"auths": {"a.b": {"auth": "YTph"}}, "credsStore": "evil", "credHelpers": {"c.d": "evil"}}"#;
        let old = r#"{"https://a.b/v1/": {"auth": "YjpiAA"}, "c.d": {"username": "c", "password": "p"},
            "e.f": {"auth": "YTph="}}"#;
        let credentials = Credentials::from_file(PathBuf::from("/missing")).with_given([
            given("one", LoginFormat::Config, new).unwrap(),
            given("two", LoginFormat::OldConfig, old).unwrap(),
        ]);
        assert_eq!(found(&credentials, "a.b").await, "a of one");
        assert_eq!(found(&credentials, "c.d").await, "c of two");
        let invalid = "two has an entry for e.f whose auth is not base64 of NAME:PASSWORD";
        assert_eq!(found(&credentials, "e.f").await, invalid);
        assert_eq!(
            found(&credentials, "g.h").await,
            "/missing cannot be used",
            "the file is asked last"
        );
        assert!(!format!("{credentials:?}").contains("YTph"));
    }

    #[test]
    fn no_error_quotes_what_was_given() {
        for (format, text) in [
            (LoginFormat::Config, "hunter2"),
            (
                LoginFormat::Config,
                "{\"auths\": {\"hunter2\u{1b}[2J\": \"hunter2\"}}",
            ),
            (LoginFormat::Config, "{\"auths\": [\"hunter2\"]}"),
            (LoginFormat::OldConfig, "{\"a.b\": \"hunter2\"}"),
            (LoginFormat::OldConfig, "[\"hunter2\"]"),
        ] {
            let error = given("it", format, text).unwrap_err();
            assert!(
                error.starts_with("it holds no JSON with logins, see line 1"),
                "{error}"
            );
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
