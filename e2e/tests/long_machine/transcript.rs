//! `docs/transcript.md` is what a terminal shows: every command in it is run here, and what it
//! prints is held against the page, with numbers and ids masked, for they differ each time.
//! `UPDATE_GOLDEN=1` writes the page anew.

use lab::CommandOutput;
use lab::node::Job;

use testkit::machine::{Machine, fail, machine_with_bpfland};
use testkit::wait::NODE_TIMEOUT;

use super::page;

/// A chapter: its title, what to know, and the commands with the exit codes they must have.
type Chapter = (
    &'static str,
    &'static str,
    &'static [(&'static [&'static str], i32)],
);

const STALL: &[&str] = &[
    "switch",
    "scx_lab",
    "--probation",
    "60s",
    "--",
    "--fault",
    "stall",
    "--timeout",
    "2s",
];
const CHAPTERS: &[Chapter] = &[
    (
        "Can this machine do it?",
        "",
        &[(&["doctor"], 0), (&["list"], 0)],
    ),
    (
        "Run one",
        "It returns when the kernel has it.",
        &[(&["run", "scx_bpfland"], 0), (&["status"], 0), (&["ps"], 0)],
    ),
    (
        "Switch to one that stalls",
        "`scx_lab` misbehaves on order: here it never lets one thread run. The kernel's watchdog \
         throws it out after two seconds, within the probation, and what ran before comes back.",
        &[(STALL, 4), (&["status"], 0)],
    ),
    (
        "Back to the kernel's own scheduler",
        "",
        &[(&["stop", "scx_bpfland"], 0), (&["status"], 0)],
    ),
];
const HEAD: &str = "\
# What it looks like

A session on a machine of the lab: Debian 13 with its own 6.18 kernel, emulated on two slow \
cores, so the times say nothing about yours. A test runs these commands and compares what they \
print with this page, numbers and ids aside; `e2e/tests/long_machine/transcript.rs` says \
how to write it anew.
";
const EVENTS: &str = "\
Meanwhile, in another terminal: it began after `doctor` and was ended with Ctrl-C.
";

#[test]
fn the_page_shows_what_a_terminal_shows() {
    let machine = machine_with_bpfland();
    let mut text = HEAD.to_owned();
    let mut events = None;
    for (title, note, commands) in CHAPTERS {
        text += &format!("\n## {title}\n");
        if !note.is_empty() {
            text += &format!("\n{note}\n");
        }
        text += "\n```console\n";
        for (args, code) in *commands {
            let output = machine.schedctl(args);
            assert_eq!(output.status, *code, "schedctl {args:?}: {}", output.text());
            text += &shown(args, &output);
        }
        text += "```\n";
        events.get_or_insert_with(|| listen(&machine));
    }
    let output = ended(&events.expect("there are chapters"));
    text += &format!("\n## What the kernel did\n\n{EVENTS}\n```console\n");
    text += &shown(&["events"], &output);
    text += "```\n";
    page::compare("docs/transcript.md", &text);
}

/// As a terminal has it: what was typed, what was answered, and the code when it is not 0.
fn shown(args: &[&str], output: &CommandOutput) -> String {
    let code = match output.status {
        0 => String::new(),
        code => format!("# echo $?\n{code}\n"),
    };
    format!(
        "# schedctl {}\n{}{}{code}",
        args.join(" "),
        output.stdout,
        output.stderr
    )
}

fn listen(machine: &Machine) -> Job<'_> {
    let args = ["schedctl", "events"];
    machine.node().background(&args).unwrap_or_else(fail)
}

fn ended(events: &Job<'_>) -> CommandOutput {
    events.kill("INT").unwrap_or_else(fail);
    let mut output = events.wait(NODE_TIMEOUT).unwrap_or_else(fail);
    assert_eq!(output.status, 0, "{}", output.text());
    // A job's output comes without its last line's end.
    output.stdout.push('\n');
    output
}
