//! `docs/recording.cast` is a terminal in daily use, and `docs/recording.md` shows it as text: names,
//! versions and containers completed in bash, and what a day needs. The session is typed again here,
//! and what the terminal shows is held against the page. `UPDATE_GOLDEN=1` writes both anew.

mod screen;

use serde_json::{Value, json};
use testkit::machine::{Machine, machine_with_bpfland};
use testkit::wait::NODE_TIMEOUT;

use super::page;

const CAST: &str = "docs/recording.cast";
const PAGE: &str = "docs/recording.md";
const TYPE_KEYS: &str = include_str!("recording/type_keys.sh");
const FOLDER: &str = "/run/lab/recording";
/// Tab is the key that completes.
const KEYS: [&str; 12] = [
    "source <(schedctl completion bash)",
    "schedctl list",
    "schedctl run scx_lavdd",
    "schedctl ru\tsc\t\t\tb\t",
    "schedctl status",
    "schedctl run scx_lab",
    "schedctl sw\tscx_l\t--ver\t\t\t1.0\t",
    "schedctl ps",
    "schedctl logs --tail 2",
    "schedctl run scx_lab --version 1.0.0",
    "schedctl stop \t\tscx_l\t",
    "schedctl status",
];
const HEAD: &str = "\
# A terminal in daily use

[`recording.cast`](recording.cast) is this session with its times, an asciicast (version 2), which \
`asciinema play` shows. The machine is one of the lab: emulated on two slow cores, so the times \
say nothing about yours. A test types the same keys and compares what the terminal shows with this \
page, numbers and ids aside; `e2e/tests/long_machine/recording.rs` says how to write both anew.
";

/// What the terminal was sent, in order: seconds since the beginning, and text.
type Events = Vec<(f64, String)>;

#[test]
fn the_recording_shows_what_a_terminal_shows() {
    let machine = machine_with_bpfland();
    let events = record(&machine);
    let page = page_of(&shown(&events));
    if page::is_written_anew() {
        std::fs::write(page::file(CAST), cast(&events)).unwrap();
    }
    page::compare(PAGE, &page);
}

#[test]
fn the_page_is_the_text_of_the_recording() {
    let kept = std::fs::read_to_string(page::file(CAST)).unwrap();
    let page = page_of(&shown(&events(&kept)));
    assert_eq!(std::fs::read_to_string(page::file(PAGE)).unwrap(), page);
}

fn record(machine: &Machine) -> Events {
    let node = machine.node();
    // As udev makes it; bash needs it for `<(…)`.
    machine.shell(&format!(
        "rm -rf {FOLDER}; mkdir -p {FOLDER}; ln -sfn /proc/self/fd /dev/fd"
    ));
    let keys = KEYS.map(|line| format!("{line}\n")).concat();
    for (name, text) in [("type_keys.sh", TYPE_KEYS), ("keys", &keys)] {
        let path = format!("{FOLDER}/{name}");
        node.write(&path, text.as_bytes(), 0o755).unwrap();
    }
    let script = format!("{FOLDER}/type_keys.sh");
    let typist = node.background(&["bash", &script, FOLDER]).unwrap();
    let typist = typist.wait(NODE_TIMEOUT).unwrap();
    assert_eq!(typist.status, 0, "{}", typist.text());
    let read = |name: &str| node.shell(&format!("cat {FOLDER}/{name}")).unwrap().stdout;
    let (timing, screen) = (read("timing"), read("screen"));
    machine.shell(&format!("rm -r {FOLDER}"));
    timed(&timing, &screen)
}

/// From the two files of script(1): a line for each write with its delay and its bytes, and what was
/// written, after a line of script's own.
fn timed(timing: &str, screen: &str) -> Events {
    let (_, screen) = screen.split_once('\n').expect("script begins with a line");
    let (mut at, mut begin, mut end) = (0.0, 0, 0);
    let mut events = Vec::new();
    for line in timing.lines() {
        let (delay, bytes) = line.split_once(' ').expect("a delay and bytes");
        at += delay.parse::<f64>().unwrap();
        end += bytes.parse::<usize>().unwrap();
        // A write may end inside a character.
        if let Some(text) = screen.get(begin..end) {
            events.push((at, text.to_owned()));
            begin = end;
        }
    }
    events
}

fn shown(events: &Events) -> String {
    let output: String = events.iter().map(|(_, text)| text.as_str()).collect();
    let text = screen::text(&output);
    // The last prompt, at which the shell is ended.
    text.trim_end()
        .trim_end_matches("exit")
        .trim_end_matches(['#', '\n', ' '])
        .to_owned()
}

fn page_of(shown: &str) -> String {
    let keys = KEYS.map(|line| line.replace('\t', "⇥")).join("\n");
    format!(
        "{HEAD}\n## Typed\n\n`⇥` is the Tab key.\n\n```text\n{keys}\n```\n\n\
         ## Shown\n\n```console\n{shown}\n```\n"
    )
}

/// asciicast v2: a line for the terminal, and one for each write. Nobody waits longer than two seconds.
fn cast(events: &Events) -> String {
    let header = json!({
        "version": 2, "width": 100, "height": 30, "idle_time_limit": 2.0,
        "title": "schedctl: completion of names, daily use",
    });
    let mut lines = format!("{header}\n");
    for (at, text) in events {
        let at = (at * 1000.0).round() / 1000.0;
        lines += &format!("{}\n", json!([at, "o", text]));
    }
    lines
}

fn events(cast: &str) -> Events {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = event[2].as_str().unwrap();
        (event[0].as_f64().unwrap(), text.to_owned())
    };
    cast.lines().skip(1).map(event).collect()
}

#[test]
fn a_write_that_ends_inside_a_character_is_joined_to_the_next() {
    let events = timed("0.5 2\n1.0 2\n0.25 1\n", "Script started\na⠁b");
    let expected = [(1.5, "a⠁".to_owned()), (1.75, "b".to_owned())];
    assert_eq!(events, expected);
    assert_eq!(self::events(&cast(&events)), expected);
}
