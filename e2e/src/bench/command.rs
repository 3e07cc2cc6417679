//! Time and memory of commands, for the measurements of schedctl.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

/// The static release build, which is what people install; `SCHEDCTL` names it.
pub fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::var_os("SCHEDCTL");
    Ok(program
        .context("SCHEDCTL names no program: see the Makefile")?
        .into())
}

/// How long a program took that must end well, in milliseconds.
pub fn timed(command: &mut Command) -> anyhow::Result<f64> {
    let begin = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let took = begin.elapsed();
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(took.as_secs_f64() * 1000.0)
}

/// The largest memory that a program had, as GNU time reports it.
pub fn kilobytes(command: &Command, folder: &Path) -> anyhow::Result<f64> {
    let report = folder.join("memory");
    let mut time = Command::new("/usr/bin/time");
    time.args(["--format=%M", "--output"]).arg(&report);
    time.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => time.env(name, value),
            None => time.env_remove(name),
        };
    }
    ensure!(time.output()?.status.success(), "{time:?} failed");
    Ok(std::fs::read_to_string(report)?.trim().parse()?)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
