//! Panics of schedulers that are written in Rust, as the standard library reports them.
//!
//! ```text
//! thread 'main' (412) panicked at src/main.rs:237:44:
//! called `Result::unwrap()` on an `Err` value: No debugfs mount found       the message
//! note: run with `RUST_BACKTRACE=1` environment variable …                  noise, like a backtrace
//! ```
//!
//! `exit_reason` calls it, and what shows the end of an output to people.

const PANICKED: &str = " panicked at ";
/// The process goes on after a panic in another thread, and ends after one in this.
const MAIN_THREAD: &str = "thread 'main'";
const NOTES: [&str; 2] = [
    "note: run with `RUST_BACKTRACE=",
    "note: Some details are omitted",
];
const BACKTRACE: &str = "stack backtrace:";
const CAUSES: &str = "Caused by:";
const LIBBPF: &str = "libbpf: ";

/// Where a panic is reported, and its message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Panic {
    pub(super) line: usize,
    pub(super) message: String,
}

/// The lines that say something: without blank ones, and after a panic without the backtrace and the
/// note about it. After a panic of the main thread libbpf only reports that objects are closed.
pub fn meaningful_lines(output: &str) -> Vec<&str> {
    let mut lines = blank_noise(output.lines());
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// The same with blank lines in place of the noise.
pub(super) fn blank_noise<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let (mut panicked, mut ends, mut in_backtrace) = (false, false, false);
    let keep = |line: &'a str| {
        if header(line).is_some() {
            (panicked, in_backtrace) = (true, false);
            ends |= line.contains(MAIN_THREAD);
            return line;
        }
        let is_heading = is_backtrace_heading(line);
        in_backtrace = is_heading || in_backtrace && is_frame(line);
        let about_panic = panicked && (in_backtrace || is_note(line));
        match about_panic || ends && line.contains(LIBBPF) {
            true => "",
            false => line,
        }
    };
    lines.map(keep).collect()
}

/// The latest panic.
pub(super) fn latest(lines: &[&str]) -> Option<Panic> {
    let (line, rest) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| Some((at, header(line)?)))?;
    // Before Rust 1.73: 'MESSAGE', FILE:LINE:COLUMN
    let quoted = rest
        .strip_prefix('\'')
        .and_then(|rest| rest.rsplit_once("', "));
    let message = match quoted {
        Some((message, _)) => message.to_owned(),
        None => following(&lines[line + 1..]).join(" "),
    };
    Some(Panic { line, message })
}

/// What follows `panicked at`.
fn header(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once(PANICKED)?;
    before.contains("thread '").then_some(rest)
}

/// The lines of a message. A blank line ends it, unless the causes of an error follow.
fn following<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut message = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let next = lines.get(at + 1).map(|next| next.trim());
        match line {
            "" if next == Some(CAUSES) => {}
            "" => break,
            line => message.push(line),
        }
    }
    message
}

fn is_note(line: &str) -> bool {
    NOTES.iter().any(|note| line.starts_with(note))
}

fn is_backtrace_heading(line: &str) -> bool {
    line.trim().eq_ignore_ascii_case(BACKTRACE)
}

/// `   4: FUNCTION`, or below it `             at FILE:LINE:COLUMN`.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.split(':').next().unwrap_or_default();
    text.len() < line.len() && (text.starts_with("at ") || number.parse::<u32>().is_ok())
}
