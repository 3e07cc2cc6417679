//! A shell's script, as `schedctl completion` prints it.

use clap::CommandFactory;
use clap_complete::aot;
use schedctl_args::args::{Args, Shell};
use serde::Serialize;

use super::Document;

#[derive(Serialize)]
pub(crate) struct Script {
    shell: &'static str,
    script: String,
}

impl Script {
    pub(crate) fn of(shell: Shell) -> Self {
        let (name, generator) = match shell {
            Shell::Bash => ("bash", aot::Shell::Bash),
            Shell::Zsh => ("zsh", aot::Shell::Zsh),
            Shell::Fish => ("fish", aot::Shell::Fish),
            Shell::Elvish => ("elvish", aot::Shell::Elvish),
            Shell::PowerShell => ("powershell", aot::Shell::PowerShell),
        };
        let mut script = Vec::new();
        aot::generate(generator, &mut Args::command(), "schedctl", &mut script);
        Self {
            shell: name,
            script: String::from_utf8_lossy(&script).into_owned(),
        }
    }
}

impl Document for Script {
    fn text(&self) -> String {
        self.script.clone()
    }
}
