//! Runs the `sigstore` program: JSON on standard input, JSON on standard output.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command::{self, CommandError};
use crate::oci::PushError;

/// Why an image could not be signed or verified.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("`sigstore {args}` failed{output_tail}")]
    Failed { args: String, output_tail: String },
    #[error("cannot parse the output of the lab's sigstore program")]
    Output(#[source] serde_json::Error),
    #[error("cannot write the files of cosign and sigstore: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// Runs `sigstore ARGS` with `input` and parses its output.
pub(super) fn run<T: DeserializeOwned>(
    program: &Path,
    args: &[&str],
    input: &impl Serialize,
) -> Result<T, SigningError> {
    let mut process = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| CommandError::Start {
            program: program.display().to_string(),
            source,
        })?;
    let text = serde_json::to_vec(input).map_err(io::Error::from)?;
    if let Some(mut pipe) = process.stdin.take() {
        // If the program exits without reading, its standard error says why.
        let _ = pipe.write_all(&text);
    }
    let output = process.wait_with_output()?;
    if !output.status.success() {
        return Err(SigningError::Failed {
            args: args.join(" "),
            output_tail: command::output_tail(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    serde_json::from_slice(&output.stdout).map_err(SigningError::Output)
}
