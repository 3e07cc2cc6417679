//! Chores of the workspace. `cargo run -p xtask -- tidy` checks what no compiler does.

mod layers;
mod rooms;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

fn main() -> anyhow::Result<ExitCode> {
    let chore = std::env::args().nth(1);
    if chore.as_deref() != Some("tidy") {
        bail!("usage: cargo run -p xtask -- tidy");
    }
    let mut complaints = layers::check()?;
    complaints.extend(rooms::check(Path::new("."))?);
    for complaint in &complaints {
        writeln!(std::io::stderr(), "tidy: {complaint}")?;
    }
    Ok(if complaints.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
