//! Developer commands of the workspace: `cargo run -p xtask -- COMMAND`.
//!
//! - `test`, `lint`, `unit`, `e2e [NAME…]`, `long [NAME…]` are the gate and its parts (`gate.rs`).
//! - `tidy` checks what the compiler does not: dependencies between crates, import cycles, file
//!   headers and names.
//! - `mutants [NAME…]` removes one check of the verifier at a time and expects a test to fail; with
//!   names, only checks whose name contains one of them.
//! - `man [FOLDER]`, with the feature `man`, writes the programs' man pages and schedctl's shell
//!   completions.
//! - `manifests`, with the feature `manifests`, writes the files of `config/` and `docs/` that are
//!   derived from sked's types.

mod crate_dependencies;
mod gate;
mod import_cycles;
#[cfg(feature = "man")]
mod man;
#[cfg(feature = "manifests")]
mod manifests;
mod mutants;
mod source_files;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let command = args.first().map(String::as_str);
    let names = args.get(1..).unwrap_or_default();
    let root = Path::new(".");
    let passed = match command {
        Some("test") => Some(gate::test()?),
        Some("lint") => Some(gate::lint()?),
        Some("unit") => Some(gate::unit()?),
        Some("e2e") => Some(gate::e2e(names)?),
        Some("long") => Some(gate::long(names)?),
        _ => None,
    };
    if let Some(passed) = passed {
        return Ok(if passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let problems = match command {
        Some("tidy") => [
            crate_dependencies::check()?,
            import_cycles::check(root)?,
            source_files::check(root)?,
        ]
        .concat(),
        Some("mutants") => mutants::run(root, names)?,
        #[cfg(feature = "man")]
        Some("man") => {
            man::write(Path::new(args.get(1).map_or("target/man", String::as_str)))?;
            Vec::new()
        }
        #[cfg(feature = "manifests")]
        Some("manifests") => {
            manifests::write(root)?;
            Vec::new()
        }
        _ => bail!(
            "usage: cargo run -p xtask -- test | lint | unit | e2e [NAME…] | long [NAME…] | tidy | \
             mutants [NAME…], or with --features man: man [FOLDER], or with --features manifests: \
             manifests"
        ),
    };
    for problem in &problems {
        writeln!(std::io::stderr(), "{problem}")?;
    }
    Ok(if problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
