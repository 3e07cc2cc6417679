//! Writes man pages and schedctl's shell completions as files, for packages. They are generated from
//! the definitions that the program parses its arguments with.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::aot::{Shell, generate_to};
use clap_mangen::Man;
use schedctl_args::args::Args;
use schedctl_args::completion_scripts::{BASH, FISH, ZSH};

/// Writes `schedctl.1` and `kubectl-sx.1`, one page for each command, and `completions/`.
pub(crate) fn write(folder: &Path) -> anyhow::Result<()> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).with_context(|| completions.display().to_string())?;
    pages(Args::command(), "schedctl", folder)?;
    pages(kubectl_sx_args::args::Args::command(), "kubectl-sx", folder)?;
    for shell in [Shell::Elvish, Shell::PowerShell] {
        generate_to(shell, &mut Args::command(), "schedctl", &completions)?;
    }
    let scripts = [
        ("schedctl.bash", BASH),
        ("_schedctl", ZSH),
        ("schedctl.fish", FISH),
    ];
    for (name, script) in scripts {
        let path = completions.join(name);
        fs::write(&path, script).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// One page for the command and one for each of its commands.
fn pages(mut command: Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    command.build();
    page(&command, name, folder)?;
    let subcommands = command.get_subcommands();
    for subcommand in subcommands.filter(|subcommand| subcommand.get_name() != "help") {
        let name = format!("{name}-{}", subcommand.get_name());
        pages(subcommand.clone(), &name, folder)?;
    }
    Ok(())
}

/// The text after the options (examples, exit codes) is formatted by hand and keeps its line breaks.
fn page(command: &Command, name: &str, folder: &Path) -> anyhow::Result<()> {
    let after_help = command.get_after_help().map(ToString::to_string);
    let bare = command.clone().after_help(Resettable::Reset);
    let man = Man::new(bare).source(format!("schedkit {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render(&mut text)?;
    let mut text = String::from_utf8(text)?;
    text += &after_help.map(|help| sections(&help)).unwrap_or_default();
    let path = folder.join(format!("{name}.1"));
    fs::write(&path, text).with_context(|| path.display().to_string())
}

/// One section for each block between empty lines. A first line that ends with a colon is its
/// heading.
fn sections(help: &str) -> String {
    let section = |block: &str| {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (heading, lines) = match first.strip_suffix(':') {
            Some(heading) => (heading, rest),
            None => ("Notes", block),
        };
        let heading = escaped(heading).to_uppercase();
        let lines = lines.lines().map(|line| format!("\\&{}\n", escaped(line)));
        let lines: String = lines.collect();
        format!(".SH \"{heading}\"\n.nf\n{lines}.fi\n")
    };
    help.split("\n\n").map(section).collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e");
    text.replace('-', "\\-").replace('\'', "\\(aq")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_a_script() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(read("schedctl.1").contains("schedctl\\-status(1)"));
        let page = read("schedctl-status.1");
        assert!(page.contains(".SH \"EXIT CODES\""), "{page}");
        assert!(page.contains("\\&  schedctl status \\-\\-watch"), "{page}");
        assert!(!page.contains("EITHER DRIVER"), "{page}");
        assert!(read("kubectl-sx-rollout-undo.1").contains("to\\-revision"));
        for subcommand in Args::command().get_subcommands() {
            read(&format!("schedctl-{}.1", subcommand.get_name()));
        }
        assert_eq!(
            fs::read_dir(folder.path().join("completions"))
                .unwrap()
                .count(),
            5
        );
    }
}
