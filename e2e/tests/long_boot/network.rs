//! What a machine finds at the registry's address. It is set on this host, so that it also holds for
//! a machine that does not run yet.

use std::path::Path;
use std::process::Command;

use lab::{Lab, StopSignal};
use testkit::machine::fail;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Up,
    /// Connections are refused: nothing listens.
    Refused,
    /// Connections are accepted, and nothing answers.
    Silent,
}

impl Network {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Refused => "refused",
            Self::Silent => "silent",
        }
    }

    /// Changes from one to the other.
    pub(crate) fn change(lab: &Lab, from: Self, to: Self) {
        match from {
            Self::Up => {}
            Self::Refused => lab.start_service("registry").unwrap_or_else(fail),
            Self::Silent => signal(lab, "-CONT"),
        }
        match to {
            Self::Up => {}
            Self::Refused => lab
                .stop_service("registry", StopSignal::Kill)
                .unwrap_or_else(fail),
            Self::Silent => signal(lab, "-STOP"),
        }
    }
}

fn signal(lab: &Lab, signal: &str) {
    let config = lab.state().path("registry.yml");
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    let registry = processes.find(|process| serves(&process.path(), &config));
    let registry = registry.expect("the registry runs").file_name();
    let status = Command::new("kill").arg(signal).arg(registry).status();
    assert!(status.unwrap().success());
}

fn serves(process: &Path, config: &Path) -> bool {
    let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|byte| *byte == 0);
    arguments.nth(1) == Some(b"serve") && arguments.next() == config.to_str().map(str::as_bytes)
}
