//! Suggestions for a text that is no name of the catalog.

use std::collections::BTreeMap;

use schedkit_core::{Digest, ImageRef, PinnedRef, Tag};

use super::name::SchedulerName;

const MAX_SUGGESTIONS: usize = 3;

/// Nearly every name has this prefix, so people leave it out.
const PREFIX: &str = "scx_";

/// The comparison takes quadratic time; a longer text is no typing error.
const MAX_TEXT_BYTES: usize = 100;

/// Up to three texts to type instead, the likeliest first.
pub(super) fn suggestions(text: &str, entries: &BTreeMap<SchedulerName, ImageRef>) -> Vec<String> {
    if text.is_empty() || text.len() > MAX_TEXT_BYTES {
        return Vec::new();
    }
    if let Some(reference) = with_version(text, entries) {
        return vec![reference];
    }
    let name = text.split([':', '@']).next().unwrap_or(text);
    let mut near: Vec<(usize, &str)> = entries
        .keys()
        .map(SchedulerName::as_str)
        .filter_map(|candidate| Some((distance(name, candidate)?, candidate)))
        .collect();
    near.sort_unstable();
    let names = near.into_iter().take(MAX_SUGGESTIONS);
    names.map(|(_, name)| name.to_owned()).collect()
}

/// "; did you mean a, b or c?", or nothing.
pub(super) fn hint(suggestions: &[String]) -> String {
    match suggestions {
        [] => "; `schedctl list` shows the names, and an image reference starts with its registry's host".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

/// `scx_lavd:1.0` is no name; this is the full reference for it.
fn with_version(text: &str, entries: &BTreeMap<SchedulerName, ImageRef>) -> Option<String> {
    let image = |name: &str| entries.get(name).cloned();
    if let Some((name, digest)) = text.split_once('@') {
        let digest = digest.parse::<Digest>().ok()?;
        return Some(PinnedRef::new(image(name)?.repository().clone(), digest).to_string());
    }
    let (name, tag) = text.split_once(':')?;
    let tag = tag.parse::<Tag>().ok()?;
    Some(image(name)?.with_tag(tag).to_string())
}

/// The edit distance, when it is small enough for a typing error.
fn distance(text: &str, name: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let bare = |text: &str| text.strip_prefix(PREFIX).unwrap_or(text).to_owned();
    let name = name.to_lowercase();
    let (bare_text, bare_name) = (bare(&text), bare(&name));
    let edits = strsim::damerau_levenshtein(&bare_text, &bare_name);
    let allowed = (bare_text.chars().count().max(3)) / 3;
    let is_prefix = bare_text.len() >= 2 && bare_name.starts_with(&bare_text);
    (edits <= allowed || is_prefix).then_some(edits)
}
