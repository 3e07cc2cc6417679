//! Chores of the workspace. `cargo run -p xtask -- tidy` checks what no compiler does;
//! `-- mutants` removes checks and sees whether a test misses them (with words: those checks only
//! that have one of the words in their name); `-- man FOLDER`, with the feature `man`, writes
//! schedctl's man pages and completions; `-- manifests`, with the feature `manifests`, writes what
//! `config/` and `docs/` derive from sked's types.

mod gate;
mod layers;
#[cfg(feature = "man")]
mod man;
#[cfg(feature = "manifests")]
mod manifests;
mod mutants;
mod rooms;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let names = words.get(1..).unwrap_or_default();
    let run = match words.first().map(String::as_str) {
        Some("test") => Some(gate::test()?),
        Some("lint") => Some(gate::lint()?),
        Some("unit") => Some(gate::unit()?),
        Some("e2e") => Some(gate::e2e(names)?),
        Some("long") => Some(gate::long(names)?),
        _ => None,
    };
    if let Some(success) = run {
        return Ok(if success {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let complaints = match words.first().map(String::as_str) {
        Some("tidy") => [layers::check()?, rooms::check(Path::new("."))?].concat(),
        Some("mutants") => mutants::run(Path::new("."), &words[1..])?,
        #[cfg(feature = "man")]
        Some("man") => {
            man::write(Path::new(words.get(1).map_or("target/man", String::as_str)))?;
            Vec::new()
        }
        #[cfg(feature = "manifests")]
        Some("manifests") => {
            manifests::write(Path::new("."))?;
            Vec::new()
        }
        _ => bail!(
            "usage: cargo run -p xtask -- tidy | mutants [WORD…], or cargo run -p xtask \
             --features man -- man [FOLDER], or cargo run -p xtask --features manifests -- manifests"
        ),
    };
    for complaint in &complaints {
        writeln!(std::io::stderr(), "{complaint}")?;
    }
    Ok(if complaints.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
