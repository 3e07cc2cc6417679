//! A completion script, as `schedctl completion` prints it, and the answer to such a script.
//!
//! The scripts of bash, zsh and fish ask schedctl for every word, and so offer names, containers and
//! tags; those of other shells offer commands and options.

use clap::{CommandFactory, ValueEnum};
use clap_complete::aot;
use schedctl_args::args::{Args, Shell};
use schedctl_args::completion_scripts::{BASH, FISH, ZSH};
use schedkit_core::sanitize;
use serde::Serialize;

use super::document::Document;
use crate::completion::Candidate;

/// As much as fits into a line beside a word.
const MAX_HELP: usize = 80;

#[derive(Serialize)]
pub(crate) struct CompletionScript {
    shell: String,
    script: String,
}

#[derive(Serialize)]
pub(crate) enum Completions {
    Files,
    Words(Vec<Candidate>),
}

impl CompletionScript {
    pub(crate) fn new(shell: Shell) -> Self {
        let name = shell.to_possible_value();
        let name = name.map(|name| name.get_name().to_owned());
        Self {
            shell: name.unwrap_or_default(),
            script: match shell {
                Shell::Bash => BASH.to_owned(),
                Shell::Zsh => ZSH.to_owned(),
                Shell::Fish => FISH.to_owned(),
                Shell::Elvish => generated(aot::Shell::Elvish),
                Shell::PowerShell => generated(aot::Shell::PowerShell),
            },
        }
    }
}

fn generated(shell: aot::Shell) -> String {
    let mut script = Vec::new();
    aot::generate(shell, &mut Args::command(), "schedctl", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

impl Completions {
    pub(crate) fn none() -> Self {
        Self::Words(Vec::new())
    }

    /// Without words that a shell could misunderstand: names of containers come from outside.
    pub(crate) fn beginning_with(self, prefix: &str) -> Self {
        match self {
            Self::Files => Self::Files,
            Self::Words(mut words) => {
                words.retain(|one| one.word.starts_with(prefix) && is_plain(&one.word));
                Self::Words(words)
            }
        }
    }
}

fn is_plain(word: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@+".contains(&byte);
    !word.is_empty() && word.bytes().all(allowed)
}

impl Document for CompletionScript {
    fn text(&self) -> String {
        self.script.clone()
    }
}

impl Document for Completions {
    fn text(&self) -> String {
        let words = match self {
            Self::Files => return "files\n".to_owned(),
            Self::Words(words) => words,
        };
        let line = |one: &Candidate| {
            format!(
                "{}\t{}\n",
                one.word,
                sanitize::shortened(&one.help, MAX_HELP)
            )
        };
        let lines: String = words.iter().map(line).collect();
        format!("words\n{lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_could_misunderstand_are_not_offered() {
        let words = [
            "scx_a",
            "scx b",
            "scx$(x)",
            "scx_c;",
            "other",
            "scx\u{1b}",
            "",
        ];
        let candidate = |word: &&str| Candidate {
            word: (*word).to_owned(),
            help: "one\u{1b}\ntwo".to_owned(),
        };
        let all = Completions::Words(words.iter().map(candidate).collect());
        let text = all.beginning_with("scx").text();
        assert_eq!(text, "words\nscx_a\tone\u{fffd} two\n");
        assert_eq!(Completions::Files.beginning_with("x").text(), "files\n");
    }
}
