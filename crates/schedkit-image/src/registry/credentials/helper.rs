//! `docker-credential-NAME get`: a program that knows logins. It gets the server's name and
//! answers with JSON, in bounded time and size, or it is ended.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{CredentialsError, Login};
use crate::secret::Secret;

const BIGGEST_ANSWER: usize = 64 * 1024;

/// How every helper says that it does not know a server; it fails as it says so.
const UNKNOWN: &str = "credentials not found in native keychain";

/// The name that helpers give to what is no password.
const IDENTITY_USER: &str = "<token>";

/// A helper's name: a word that cannot lead to another folder.
#[derive(Debug, Clone)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn new(text: &str, file: &Path) -> Result<Self, CredentialsError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let good = (1..=64).contains(&text.len()) && text.bytes().all(letter);
        good.then(|| Self(text.to_owned()))
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
struct Answer {
    username: String,
    secret: Secret,
}

/// The login that a helper has for a server; `None` when it knows of none.
pub(super) async fn ask(
    folders: &[PathBuf],
    name: &Name,
    server: &str,
    patience: Duration,
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
    // Dropping the child at any of the returns below ends it.
    let (answer, success) = match timeout(patience, talk(&mut child, server)).await {
        Ok(Ok(said)) => said,
        Ok(Err(source)) => return Err(CredentialsError::HelperRun { name, source }),
        Err(_) => {
            let limit = patience;
            return Err(CredentialsError::HelperSlow { name, limit });
        }
    };
    if answer.expose().len() > BIGGEST_ANSWER {
        let limit = BIGGEST_ANSWER;
        return Err(CredentialsError::HelperTooBig { name, limit });
    }
    understand(name, answer.expose(), success)
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

/// What it wrote, one byte more than allowed at the most, and whether it ended well.
async fn talk(child: &mut Child, server: &str) -> std::io::Result<(Secret, bool)> {
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that answers without listening is welcome to.
        let _ = stdin.write_all(format!("{server}\n").as_bytes()).await;
    }
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = stdout.take(BIGGEST_ANSWER as u64 + 1);
        stdout.read_to_end(&mut answer).await?;
    }
    let full = answer.len() > BIGGEST_ANSWER;
    let answer = Secret::new(String::from_utf8_lossy(&answer).into_owned());
    // Whoever has more to say would wait for us to listen, for ever.
    let success = !full && child.wait().await?.success();
    Ok((answer, success))
}

fn understand(
    name: String,
    answer: &str,
    success: bool,
) -> Result<Option<Login>, CredentialsError> {
    if !success {
        return match answer.trim() == UNKNOWN {
            true => Ok(None),
            false => Err(CredentialsError::HelperFailed { name }),
        };
    }
    match serde_json::from_str(answer) {
        Ok(Answer { username, secret }) if username == IDENTITY_USER => {
            Ok(Some(Login::Identity(secret)))
        }
        Ok(Answer { username, secret }) => Ok(Some(Login::Password {
            user: username,
            password: secret,
        })),
        Err(_) => Err(CredentialsError::HelperAnswer { name }),
    }
}
