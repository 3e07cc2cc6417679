//! `docs/transcript.md` is what a terminal shows: every command in it is run here, and what it
//! prints is held against the page, with numbers and ids masked, for they differ each time.
//! `UPDATE_GOLDEN=1` writes the page anew.

use std::path::PathBuf;

use lab::CommandOutput;
use lab::node::Job;

use testkit::machine::{Machine, fail, machine_with_bpfland};
use testkit::wait::NODE_TIMEOUT;

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
    let mut page = HEAD.to_owned();
    let mut events = None;
    for (title, note, commands) in CHAPTERS {
        page += &format!("\n## {title}\n");
        if !note.is_empty() {
            page += &format!("\n{note}\n");
        }
        page += "\n```console\n";
        for (args, code) in *commands {
            let output = machine.schedctl(args);
            assert_eq!(output.status, *code, "schedctl {args:?}: {}", output.text());
            page += &shown(args, &output);
        }
        page += "```\n";
        events.get_or_insert_with(|| listen(&machine));
    }
    let output = ended(&events.expect("there are chapters"));
    page += &format!("\n## What the kernel did\n\n{EVENTS}\n```console\n");
    page += &shown(&["events"], &output);
    page += "```\n";
    compare(&page);
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

fn compare(page: &str) {
    let path = file();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let (kept, shown, page) = (masked(&kept), page, masked(page));
    let differs = kept
        .lines()
        .zip(page.lines())
        .find(|(kept, now)| kept != now);
    assert!(
        kept == page,
        "docs/transcript.md says otherwise, first here: {differs:?}; UPDATE_GOLDEN=1 writes it anew. The terminal showed:\n{shown}"
    );
}

fn file() -> PathBuf {
    testkit::program::tree().join("docs/transcript.md")
}

/// Numbers become `0`, ids and digests `0` as well, and the blanks that align them one blank.
fn masked(text: &str) -> String {
    text.lines().map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().map(masked_word).collect();
    words.join(" ") + "\n"
}

/// A run of letters and digits that has a digit, and nothing in it that no number has, is one.
fn masked_word(word: &str) -> String {
    let mut masked = String::new();
    let mut run = String::new();
    for character in word.chars().chain([' ']) {
        if character.is_ascii_alphanumeric() {
            run.push(character);
            continue;
        }
        masked += if is_number(&run) { "0" } else { &run };
        run.clear();
        if character != ' ' {
            masked.push(character);
        }
    }
    masked
}

/// `1530`, `20s`, `16T12` and `4f0c9a17`, which is an id from eight characters on.
fn is_number(run: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_id = hex && run.len() >= 8 && run.bytes().any(|byte| byte.is_ascii_digit());
    let unit = run.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_measure = unit.len() < run.len() && ["", "s", "ms", "m", "Z"].contains(&unit);
    let is_time = run
        .split_once('T')
        .is_some_and(|(day, hour)| digits(day) && digits(hour));
    is_id || is_measure || is_time
}

#[test]
fn only_numbers_and_ids_are_masked() {
    for (line, wanted) in [
        ("attached lab 1530 ms  after", "attached lab 0 ms after"),
        ("sha256:4f0c9a4f0c9a4f0c x64 6.18.15", "sha256:0 x64 0.0.0"),
        ("at 2026-11-16T12:04:05Z (2.5s)", "at 0-0-0:0:0 (0.0)"),
        ("schedkit-scx_lab-ee8bc650", "schedkit-scx_lab-0"),
        ("scx_lab exit facade", "scx_lab exit facade"),
    ] {
        assert_eq!(masked_line(line).trim_end(), wanted);
    }
}
