//! What measurements of schedctl share: the program, time, memory, and whether a limit is met.

use std::io::Write;
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

/// Prints our figure beside another one, and whether our part of theirs is small enough.
pub fn beside(
    name: &str,
    unit: &str,
    ours: f64,
    (whose, theirs): (&str, f64),
    most: f64,
) -> anyhow::Result<bool> {
    let ratio = ours / theirs;
    let line = format!(
        "{name:26} schedctl {ours:8.1} {unit}  {whose} {theirs:9.1} {unit}  ratio {ratio:.3} (at \
         most {most})"
    );
    verdict(&line, ratio <= most)
}

/// Prints a figure, and whether it is small enough.
pub fn within(name: &str, unit: &str, figure: f64, most: f64) -> anyhow::Result<bool> {
    let line = format!("{name:26} schedctl {figure:8.1} {unit}  (at most {most:.1})");
    verdict(&line, figure <= most)
}

fn verdict(line: &str, met: bool) -> anyhow::Result<bool> {
    let word = if met { "ok" } else { "MISSED" };
    writeln!(std::io::stdout(), "{line} {word}")?;
    Ok(met)
}
