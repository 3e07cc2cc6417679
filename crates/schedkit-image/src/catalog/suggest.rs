//! What somebody may have meant who typed a word that no catalog knows.

use std::collections::BTreeMap;

use schedkit_core::{Digest, ImageRef, PinnedRef, Tag};

use super::name::SchedulerName;

const MOST: usize = 3;

/// Nearly every name has it, so people leave it out.
const PREFIX: &str = "scx_";

/// Comparing takes time with the square of the length; longer than this is no slip of a finger.
const LONGEST_WORD: usize = 100;

/// Up to three things that can be typed instead, the likeliest first.
pub(super) fn nearest(word: &str, entries: &BTreeMap<SchedulerName, ImageRef>) -> Vec<String> {
    if word.is_empty() || word.len() > LONGEST_WORD {
        return Vec::new();
    }
    if let Some(whole) = with_version(word, entries) {
        return vec![whole];
    }
    let name = word.split([':', '@']).next().unwrap_or(word);
    let mut near: Vec<(usize, &str)> = entries
        .keys()
        .map(SchedulerName::as_str)
        .filter_map(|candidate| Some((distance(name, candidate)?, candidate)))
        .collect();
    near.sort_unstable();
    let names = near.into_iter().take(MOST);
    names.map(|(_, name)| name.to_owned()).collect()
}

/// "; did you mean a, b or c?", or nothing.
pub(super) fn hint(nearest: &[String]) -> String {
    match nearest {
        [] => "; `schedctl list` shows the names, and an image reference begins with its registry's host".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

/// `scx_lavd:1.0` is no name; the reference that was meant can be said in full.
fn with_version(word: &str, entries: &BTreeMap<SchedulerName, ImageRef>) -> Option<String> {
    let image = |name: &str| entries.get(name).cloned();
    if let Some((name, digest)) = word.split_once('@') {
        let digest = digest.parse::<Digest>().ok()?;
        return Some(PinnedRef::new(image(name)?.repository().clone(), digest).to_string());
    }
    let (name, tag) = word.split_once(':')?;
    let tag = tag.parse::<Tag>().ok()?;
    Some(image(name)?.with_tag(tag).to_string())
}

/// How many slips lie between the two, when it is few enough to be a slip at all.
fn distance(word: &str, name: &str) -> Option<usize> {
    let word = word.to_lowercase();
    let bare = |text: &str| text.strip_prefix(PREFIX).unwrap_or(text).to_owned();
    let name = name.to_lowercase();
    let (bare_word, bare_name) = (bare(&word), bare(&name));
    let slips = strsim::damerau_levenshtein(&bare_word, &bare_name);
    let allowed = (bare_word.chars().count().max(3)) / 3;
    let begun = bare_word.len() >= 2 && bare_name.starts_with(&bare_word);
    (slips <= allowed || begun).then_some(slips)
}
