//! Runs other programs to their end, and turns failure into an error with the end of their output.
//! `service.rs` is for programs that keep running. No shell is involved.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// How many lines of a failed program's output the error shows.
const TAIL_LINES: usize = 12;

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot start {program}")]
    Start { program: String, source: io::Error },
    #[error("`{command}` failed with {status}{output_tail}")]
    Failed {
        command: String,
        status: ExitStatus,
        /// See [`output_tail`].
        output_tail: String,
    },
    #[error("cannot write the log {path}: check its owner and that the disk is not full")]
    Log { path: PathBuf, source: io::Error },
}

/// Runs a program to its end, its output appended to `log`.
pub fn run(command: &mut Command, log: &Path) -> Result<(), CommandError> {
    let output = append(log)?;
    let errors = append(log)?;
    let begin = output.metadata().map_or(0, |file| file.len());
    let status = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|source| start_error(command, source))?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read(log).unwrap_or_default();
    // Only what this program has appended.
    let own = text
        .get(usize::try_from(begin).unwrap_or(0)..)
        .unwrap_or_default();
    Err(failed(command, status, &String::from_utf8_lossy(own)))
}

/// Runs a program to its end and returns its standard output.
pub fn read(command: &mut Command) -> Result<String, CommandError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| start_error(command, source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(failed(command, output.status, &errors))
}

/// Opens a log for appending and creates its folder.
pub fn append(log: &Path) -> Result<std::fs::File, CommandError> {
    let open = || {
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)?;
        }
        OpenOptions::new().create(true).append(true).open(log)
    };
    open().map_err(|source| CommandError::Log {
        path: log.to_owned(),
        source,
    })
}

/// The last non-empty lines of a text, each after a line break and indented; may be empty.
pub fn output_tail(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..]
        .iter()
        .map(|line| format!("\n    {line}"))
        .collect()
}

fn start_error(command: &Command, source: io::Error) -> CommandError {
    CommandError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    }
}

fn failed(command: &Command, status: ExitStatus, text: &str) -> CommandError {
    let argv: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    CommandError::Failed {
        command: argv.join(" "),
        status,
        output_tail: output_tail(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_the_end_of_the_output() {
        let error = read(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("\n    one\n    two"), "{error}");
    }

    #[test]
    fn the_output_of_earlier_programs_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        run(Command::new("echo").arg("before"), &log).unwrap();
        let error = run(Command::new("sh").args(["-c", "echo after; exit 1"]), &log).unwrap_err();
        assert!(
            error.to_string().ends_with("exit status: 1\n    after"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = read(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start no-such-program");
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let text: String = (0..100).map(|n| format!("line {n}\n\n")).collect();
        let tail = output_tail(&text);
        assert_eq!(tail.lines().count(), TAIL_LINES + 1);
        assert!(tail.ends_with("line 99"));
    }
}
