//! `docker-credential-NAME get`: a program that holds logins. It reads the server's name from its
//! standard input and prints JSON. It is killed when it takes too long or prints too much.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::error::CredentialsError;
use super::login::Login;
use crate::secret::Secret;

const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// What every helper prints when it has no login for a server; it then exits with an error.
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The user name that helpers print when the secret is an identity token.
const IDENTITY_USER: &str = "<token>";

/// A helper's name, which cannot lead to another folder.
#[derive(Debug, Clone)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn new(text: &str, file: &Path) -> Result<Self, CredentialsError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_valid = (1..=64).contains(&text.len()) && text.bytes().all(is_allowed);
        is_valid
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| CredentialsError::HelperName {
                path: file.to_owned(),
            })
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    username: String,
    secret: Secret,
}

/// The login that a helper has for a server; `None` when it has none.
pub(super) async fn get(
    folders: &[PathBuf],
    name: &Name,
    server: &str,
    limit: Duration,
) -> Result<Option<Login>, CredentialsError> {
    let program = folders
        .iter()
        .map(|folder| folder.join(format!("docker-credential-{}", name.0)))
        .find(|program| program.is_file());
    let Name(name) = name.clone();
    let Some(program) = program else {
        return Err(CredentialsError::NoHelper { name });
    };
    let mut child = match start(&program) {
        Ok(child) => child,
        Err(source) => return Err(CredentialsError::HelperRun { name, source }),
    };
    // Dropping the child at any of the returns below kills it.
    let (output, success) = match timeout(limit, communicate(&mut child, server)).await {
        Ok(Ok(finished)) => finished,
        Ok(Err(source)) => return Err(CredentialsError::HelperRun { name, source }),
        Err(_) => return Err(CredentialsError::HelperTimeout { name, limit }),
    };
    if output.expose().len() > MAX_OUTPUT_BYTES {
        let limit = MAX_OUTPUT_BYTES;
        return Err(CredentialsError::HelperTooBig { name, limit });
    }
    parse(name, output.expose(), success)
}

fn start(program: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

/// The output, cut one byte after the limit, and whether the helper exited with success.
async fn communicate(child: &mut Child, server: &str) -> std::io::Result<(Secret, bool)> {
    if let Some(mut stdin) = child.stdin.take() {
        // A helper may print a login without reading its input.
        let _ = stdin.write_all(format!("{server}\n").as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = stdout.take(MAX_OUTPUT_BYTES as u64 + 1);
        stdout.read_to_end(&mut output).await?;
    }
    let is_cut = output.len() > MAX_OUTPUT_BYTES;
    let output = Secret::new(String::from_utf8_lossy(&output).into_owned());
    // A helper with more output blocks until somebody reads it: waiting for it would never end.
    let success = !is_cut && child.wait().await?.success();
    Ok((output, success))
}

fn parse(name: String, output: &str, success: bool) -> Result<Option<Login>, CredentialsError> {
    if !success {
        return match output.trim() == NOT_FOUND {
            true => Ok(None),
            false => Err(CredentialsError::HelperFailed { name }),
        };
    }
    match serde_json::from_str(output) {
        Ok(Output { username, secret }) if username == IDENTITY_USER => {
            Ok(Some(Login::Identity(secret)))
        }
        Ok(Output { username, secret }) => Ok(Some(Login::Password {
            user: username,
            password: secret,
        })),
        Err(_) => Err(CredentialsError::HelperOutput { name }),
    }
}
