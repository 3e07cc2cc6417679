//! Pages of `docs/` that are what a terminal shows: held against it with numbers and ids masked, for
//! they differ each time. `UPDATE_GOLDEN=1` writes them anew.

use std::path::PathBuf;

pub(super) fn is_written_anew() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// Fails where the page of this name in the tree says something else, or writes it anew.
pub(super) fn compare(name: &str, page: &str) {
    if is_written_anew() {
        return std::fs::write(file(name), page).unwrap();
    }
    let kept = std::fs::read_to_string(file(name)).unwrap();
    let (kept, shown, page) = (masked(&kept), page, masked(page));
    let differs = kept
        .lines()
        .zip(page.lines())
        .find(|(kept, now)| kept != now);
    assert!(
        kept == page,
        "{name} says otherwise, first here: {differs:?}; UPDATE_GOLDEN=1 writes it anew. The terminal showed:\n{shown}"
    );
}

pub(super) fn file(name: &str) -> PathBuf {
    testkit::program::tree().join(name)
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
