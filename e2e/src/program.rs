//! Where the programs under test are: beside the test program, built by the same cargo command.
//!
//! `make e2e` builds the whole workspace once, for the static target that is released, and every
//! suite runs those files: on this machine, on a node, and in sked's image.

use std::path::{Path, PathBuf};

pub fn sked() -> PathBuf {
    built("sked")
}

pub fn schedctl() -> PathBuf {
    built("schedctl")
}

/// The kubectl plugin.
pub fn kubectl_sx() -> PathBuf {
    built("kubectl-sx")
}

/// The `lab` command.
pub fn lab() -> PathBuf {
    built("lab")
}

/// The top of this checkout.
pub fn tree() -> PathBuf {
    lab::operator::tree()
}

/// The folder in which labs of tests keep their state.
pub fn labs() -> PathBuf {
    tree().join(".lab")
}

fn built(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a path");
    // TARGET/PROFILE/deps/SUITE-HASH
    let profile = this.ancestors().nth(2).map(Path::to_owned);
    let program = profile.unwrap_or_default().join(name);
    assert!(
        program.exists(),
        "{} is not built: run the test with `make e2e T=…`, which builds everything first",
        program.display()
    );
    program
}
