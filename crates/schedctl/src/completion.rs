//! What a shell may offer for the last word of a command line. Pure: `cmd/complete.rs` looks up names,
//! containers and tags, and the scripts of `schedctl completion` ask for them.

use clap::{Arg, Command, CommandFactory, Parser};
use schedctl_args::args::{Args, Global};
use serde::Serialize;

/// What the last word is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of these.
    Words(Vec<Candidate>),
    Files,
    /// A name of the catalog.
    Scheduler,
    /// A container of schedctl: its scheduler's name, or its id.
    Container,
    /// A tag of this image.
    Tag(String),
    /// Anything.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Candidate {
    pub(crate) word: String,
    pub(crate) help: String,
}

/// A command line as far as it was typed.
struct Typed<'a> {
    /// The innermost one.
    command: &'a Command,
    positionals: Vec<&'a str>,
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
    /// Everything after `--` belongs to the scheduler.
    ended: bool,
}

/// `words` are those after the program's name; the last one is incomplete, and may be empty.
pub(crate) fn wanted(words: &[String]) -> Wanted {
    let mut root = Args::command();
    root.build();
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let typed = Typed::read(&root, before);
    if typed.ended {
        return Wanted::Unknown;
    }
    if let Some(option) = typed.pending {
        return typed.value_of(option);
    }
    if last.starts_with('-') {
        return Wanted::Words(typed.options());
    }
    if typed.command.has_subcommands() {
        return Wanted::Words(subcommands(typed.command));
    }
    let position = typed.positionals.len();
    let mut arguments = typed.command.get_positionals();
    match arguments.nth(position).filter(|arg| !arg.is_last_set()) {
        Some(argument) => typed.value_of(argument),
        None => Wanted::Words(typed.options()),
    }
}

/// The options of the command line that decide which catalog, runtimes and registries are asked.
pub(crate) fn globals(words: &[String]) -> Option<Global> {
    let names = ["driver", "socket", "catalog", "config", "registry-config"];
    let mut argv = vec!["schedctl", "list"];
    let mut rest = words.split_last()?.1.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let name = word.strip_prefix("--").unwrap_or_default();
        match name.split_once('=') {
            Some((name, _)) if names.contains(&name) => argv.push(word),
            _ if word == "--" => break,
            _ if word == "-d" || names.contains(&name) => {
                // Without a value it is what is completed.
                argv.extend(rest.next().into_iter().flat_map(|value| [word, value]));
            }
            _ => {}
        }
    }
    Args::try_parse_from(argv).ok().map(|args| args.global)
}

impl<'a> Typed<'a> {
    fn read(root: &'a Command, words: &'a [String]) -> Self {
        let mut typed = Self {
            command: root,
            positionals: Vec::new(),
            pending: None,
            ended: false,
        };
        for word in words {
            typed.take(word);
        }
        typed
    }

    fn take(&mut self, word: &'a str) {
        if self.pending.take().is_some() || self.ended {
            return;
        }
        if word == "--" {
            self.ended = true;
        } else if word.starts_with('-') && word.len() > 1 {
            let option = self.command.get_arguments().find(|arg| is(arg, word));
            self.pending = option.filter(|arg| arg.get_action().takes_values());
        } else if let Some(found) = self.command.find_subcommand(word) {
            self.command = found;
        } else if !self.command.has_subcommands() {
            self.positionals.push(word);
        }
    }

    fn value_of(&self, arg: &Arg) -> Wanted {
        let values = arg.get_possible_values();
        if !values.is_empty() {
            let words = values.iter().map(|value| Candidate {
                word: value.get_name().to_owned(),
                help: value
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            });
            return Wanted::Words(words.collect());
        }
        let names = arg.get_value_names().unwrap_or_default();
        match names.first().map_or("", |name| name.as_str()) {
            "NAME|REF" | "NAME|REPO" | "NAME" => Wanted::Scheduler,
            "ID|NAME" => Wanted::Container,
            "TAG" => match self.positionals.first() {
                Some(image) => Wanted::Tag((*image).to_owned()),
                None => Wanted::Unknown,
            },
            "FILE" | "PATH" | "URL|FILE" => Wanted::Files,
            _ => Wanted::Unknown,
        }
    }

    fn options(&self) -> Vec<Candidate> {
        let shown = self
            .command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set());
        let option = |arg: &Arg| {
            let help = arg.get_help().map(ToString::to_string);
            Some(Candidate {
                word: format!("--{}", arg.get_long()?),
                help: help.unwrap_or_default(),
            })
        };
        shown.filter_map(option).collect()
    }
}

fn is(arg: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg
            .get_short()
            .is_some_and(|short| word == format!("-{short}")),
    }
}

fn subcommands(root: &Command) -> Vec<Candidate> {
    let shown = root
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let candidate = |command: &Command| Candidate {
        word: command.get_name().to_owned(),
        help: command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    shown.map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Wanted {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        wanted(&words)
    }

    fn words(line: &str) -> Vec<String> {
        match of(line) {
            Wanted::Words(found) => found.into_iter().map(|one| one.word).collect(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn values_are_those_of_the_argument() {
        for (line, expected) in [
            ("run ", Wanted::Scheduler),
            ("run scx_", Wanted::Scheduler),
            ("-d containerd switch ", Wanted::Scheduler),
            ("info --driver podman ", Wanted::Scheduler),
            ("versions ", Wanted::Scheduler),
            ("enable ", Wanted::Scheduler),
            ("doctor --image ", Wanted::Scheduler),
            ("wait --attached ", Wanted::Scheduler),
            ("stop ", Wanted::Container),
            ("logs --follow ", Wanted::Container),
            (
                "run scx_lavd --version ",
                Wanted::Tag("scx_lavd".to_owned()),
            ),
            ("run --version ", Wanted::Unknown),
            ("run scx_lavd --trust-policy ", Wanted::Files),
            ("policy check ", Wanted::Files),
            ("policy explain ", Wanted::Scheduler),
            ("--config ", Wanted::Files),
            ("run scx_lavd --timeout ", Wanted::Unknown),
            ("run scx_lavd -- ", Wanted::Unknown),
            ("run scx_lavd -- --x ", Wanted::Unknown),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }

    #[test]
    fn commands_options_and_choices_are_offered() {
        assert!(words("").contains(&"switch".to_owned()));
        assert!(
            !words("")
                .iter()
                .any(|word| word == "guard" || word == "__complete")
        );
        assert!(words("run --").contains(&"--allow-unsigned".to_owned()));
        assert!(words("run --").contains(&"--driver".to_owned()));
        assert_eq!(words("-d "), ["podman", "containerd"]);
        assert_eq!(words("ps -o "), ["text", "json"]);
        assert!(words("completion ").contains(&"bash".to_owned()));
    }

    #[test]
    fn the_options_of_the_line_count() {
        let line = "--catalog ./c.json run -d containerd scx_";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = globals(&words).unwrap();
        assert_eq!(found.catalog.as_deref(), Some("./c.json"));
        assert_eq!(
            found.driver,
            Some(schedkit_runtime::driver::Runtime::Containerd)
        );
    }

    #[test]
    fn an_unfinished_line_has_an_answer() {
        for line in [
            "-",
            "--",
            "x",
            "x y",
            "-- -- ",
            "run a b c ",
            "-d",
            "--driver=",
            "stop \u{1b} ",
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let _ = (wanted(&words), globals(&words));
        }
        assert!(matches!(wanted(&[]), Wanted::Words(_)));
    }
}
