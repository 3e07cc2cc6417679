//! `docs/troubleshooting.md` has every error message of the sources, and no others.
//!
//! A message is found on the page by its longest constant part, in a heading or in a quoted list
//! item.

use std::fs;
use std::path::{Path, PathBuf};

/// What precedes an error message in the sources.
const MARKERS: [&str; 5] = [
    "#[error(",
    "bail!(",
    "ensure!(",
    ".context(",
    "with_context(",
];
/// Shorter parts belong to messages that only wrap another error.
const MIN_LENGTH: usize = 4;

#[test]
fn every_error_message_is_on_the_page() {
    let named = named();
    let (mut checked, mut missing) = (0, Vec::new());
    for (path, source) in sources() {
        for message in messages(&source) {
            let piece = longest(&message);
            if piece.len() < MIN_LENGTH {
                continue;
            }
            checked += 1;
            if !named.iter().any(|line| line.contains(piece)) {
                missing.push(format!("{}: {piece}", path.display()));
            }
        }
    }
    assert!(checked > 200, "only {checked} messages were found");
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md has no heading or quote with:\n{}",
        missing.join("\n")
    );
}

#[test]
fn every_message_on_the_page_is_in_the_sources() {
    let sources = sources();
    let texts = sources
        .iter()
        .map(|(_, source)| joined(source).replace("\\\"", "\""));
    let texts: String = texts.collect();
    let unknown = named().into_iter().filter(|line| {
        let piece = line.split('…').max_by_key(|piece| piece.len());
        !texts.contains(piece.unwrap_or_default().trim())
    });
    let unknown: Vec<String> = unknown.collect();
    assert!(
        unknown.is_empty(),
        "no error has the message:\n{}",
        unknown.join("\n")
    );
}

/// The headings and quoted list items of the page.
fn named() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = fs::read_to_string(page).unwrap();
    let quote = |line: &str| Some(line.strip_prefix("- “")?.strip_suffix('”')?.to_owned());
    let named = page.lines().filter_map(|line| {
        let heading = line.strip_prefix("### ").map(str::to_owned);
        heading.or_else(|| quote(line))
    });
    named.collect()
}

/// The sources of schedctl and the schedkit crates, without tests. sked reports through conditions,
/// which have a page of their own.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ours = |one: &&PathBuf| {
        let name = one.file_name().unwrap_or_default().to_string_lossy();
        name == "schedctl" || name.starts_with("schedkit-")
    };
    let all = children(&crates);
    let ours = all.iter().filter(ours);
    let mut folders: Vec<PathBuf> = ours.map(|one| one.join("src")).collect();
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in children(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).unwrap();
                let shipped = text.split("#[cfg(test)]\nmod tests {").next();
                sources.push((path, shipped.unwrap_or_default().to_owned()));
            }
        }
    }
    sources
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The first literal after each marker, within the statement; `#[error(transparent)]` has none.
fn messages(source: &str) -> Vec<String> {
    let mut messages = Vec::new();
    for marker in MARKERS {
        for (at, _) in source.match_indices(marker) {
            let rest = &source[at + marker.len()..];
            let rest = match marker {
                "#[error(" => rest.trim_start().strip_prefix('"'),
                _ => rest
                    .split_once('"')
                    .filter(|(before, _)| !before.contains([';', '}']))
                    .map(|(_, text)| text),
            };
            messages.extend(rest.and_then(text));
        }
    }
    messages
}

/// The literal up to its closing quote.
fn text(rest: &str) -> Option<String> {
    let rest = joined(rest);
    let end = closing(&rest)?;
    Some(rest[..end].replace("\\\"", "\""))
}

fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let is_end = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        is_end.then_some(at)
    })
}

/// Joins lines that end with a `\`.
fn joined(source: &str) -> String {
    let mut parts = source.split("\\\n");
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        joined += part.trim_start();
    }
    joined
}

/// The longest part between placeholders.
fn longest(message: &str) -> &str {
    let pieces = message
        .split('{')
        .map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after));
    let longest = pieces.max_by_key(|piece| piece.len());
    longest.unwrap_or_default().trim()
}

#[test]
fn messages_are_extracted_from_sources() {
    let source = "#[error(\n \"one \\\n   two {x} three\"\n)]\nbail!(\"no {y}: \\\"z\\\"\");\n\
                  #[error(transparent)]\nensure!(a, \"four\");";
    let messages = messages(source);
    assert_eq!(messages, ["one two {x} three", "no {y}: \"z\"", "four"]);
    assert_eq!(longest(&messages[0]), "one two");
}
