//! Requests to the `sigstore` program: JSON in, JSON out.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command::{self, CommandError};
use crate::oci::PushError;

/// Why something is not signed or no verdict is to be had.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// A program failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The Sigstore refused.
    #[error("the lab's sigstore could not {verb}{output_tail}")]
    Refused {
        /// What it was asked for.
        verb: String,
        /// What it said.
        output_tail: String,
    },
    /// The Sigstore's answer makes no sense.
    #[error("cannot read what the lab's sigstore answered")]
    Answer(#[source] serde_json::Error),
    #[error("cannot attach a signature")]
    Attach(#[from] PushError),
    /// A file or pipe.
    #[error("cannot use the files of keys and signatures")]
    Io(#[from] io::Error),
}

/// Asks and gives the answer.
pub(super) fn ask<T: DeserializeOwned>(
    program: &Path,
    words: &[&str],
    question: &impl Serialize,
) -> Result<T, SigningError> {
    let mut process = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| CommandError::Start {
            program: program.display().to_string(),
            source,
        })?;
    let text = serde_json::to_vec(question).map_err(io::Error::from)?;
    if let Some(mut input) = process.stdin.take() {
        // One that ends without listening says why on its standard error.
        let _ = input.write_all(&text);
    }
    let output = process.wait_with_output()?;
    if !output.status.success() {
        return Err(SigningError::Refused {
            verb: words.join(" "),
            output_tail: command::output_tail(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    serde_json::from_slice(&output.stdout).map_err(SigningError::Answer)
}
