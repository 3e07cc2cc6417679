//! Chores of the workspace. `cargo run -p xtask -- tidy` checks what no compiler does;
//! `-- mutants` removes checks and sees whether a test misses them (with words: those checks only
//! that have one of the words in their name).

mod layers;
mod mutants;
mod rooms;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let complaints = match words.first().map(String::as_str) {
        Some("tidy") => [layers::check()?, rooms::check(Path::new("."))?].concat(),
        Some("mutants") => mutants::run(Path::new("."), &words[1..])?,
        _ => bail!("usage: cargo run -p xtask -- tidy | mutants [WORD…]"),
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
