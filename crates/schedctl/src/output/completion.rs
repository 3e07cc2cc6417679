//! A completion script, as `schedctl completion` prints it.

use clap::{CommandFactory, ValueEnum};
use clap_complete::aot;
use schedctl_args::args::{Args, Shell};
use serde::Serialize;

use super::document::Document;

#[derive(Serialize)]
pub(crate) struct CompletionScript {
    shell: String,
    script: String,
}

impl CompletionScript {
    pub(crate) fn new(shell: Shell) -> Self {
        let generator = match shell {
            Shell::Bash => aot::Shell::Bash,
            Shell::Zsh => aot::Shell::Zsh,
            Shell::Fish => aot::Shell::Fish,
            Shell::Elvish => aot::Shell::Elvish,
            Shell::PowerShell => aot::Shell::PowerShell,
        };
        let name = shell.to_possible_value();
        let name = name.map(|name| name.get_name().to_owned());
        let mut script = Vec::new();
        aot::generate(generator, &mut Args::command(), "schedctl", &mut script);
        Self {
            shell: name.unwrap_or_default(),
            script: String::from_utf8_lossy(&script).into_owned(),
        }
    }
}

impl Document for CompletionScript {
    fn text(&self) -> String {
        self.script.clone()
    }
}
