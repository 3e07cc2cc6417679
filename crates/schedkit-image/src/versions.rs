//! The tags of a repository, sorted as versions. `schedctl versions` prints them, the newest last.
//!
//! First come names (`main`, `nightly`), then versions by their numbers (`1.9` before `1.10`,
//! `1.0-rc1` before `1.0`), then `latest`. Tags that hold signatures are left out.

use std::cmp::Ordering;

use schedkit_core::{Repository, Tag};

use crate::registry::{Registry, RegistryError};

/// All versions of an image, the newest last.
///
/// # Errors
/// When the request fails or the registry does not have the repository.
pub async fn versions(
    registry: &impl Registry,
    repository: &Repository,
) -> Result<Vec<Tag>, RegistryError> {
    Ok(sorted(registry.tags(repository).await?))
}

/// The versions among these tags, the newest last, each once.
pub fn sorted(mut tags: Vec<Tag>) -> Vec<Tag> {
    tags.retain(|tag| !is_attachment(tag.as_str()));
    tags.sort_by(|a, b| compare(a.as_str(), b.as_str()));
    tags.dedup();
    tags
}

/// `sha256-<hex>`, with `.sig`, `.att` or `.sbom` or nothing behind it.
fn is_attachment(tag: &str) -> bool {
    let Some(rest) = tag.strip_prefix("sha256-") else {
        return false;
    };
    let hex = rest.split('.').next().unwrap_or(rest);
    hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The groups of tags, in their order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum TagGroup {
    Name,
    Version,
    Latest,
}

fn group(tag: &str) -> TagGroup {
    match tag {
        "latest" => TagGroup::Latest,
        _ if numbers(tag).starts_with(|first: char| first.is_ascii_digit()) => TagGroup::Version,
        _ => TagGroup::Name,
    }
}

/// `v1.0` is `1.0`.
fn numbers(tag: &str) -> &str {
    match tag.strip_prefix('v') {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_digit()) => rest,
        _ => tag,
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let by_text = || a.cmp(b);
    group(a)
        .cmp(&group(b))
        .then_with(|| match group(a) {
            TagGroup::Version => compare_versions(numbers(a), numbers(b)),
            TagGroup::Name | TagGroup::Latest => Ordering::Equal,
        })
        .then_with(by_text)
}

/// A version with a `-` comes before the same version without, as in semantic versioning.
fn compare_versions(a: &str, b: &str) -> Ordering {
    let split = |text| match str::split_once(text, '-') {
        Some((core, early)) => (core, Some(early)),
        None => (text, None),
    };
    let ((core_a, early_a), (core_b, early_b)) = (split(a), split(b));
    compare_runs(core_a, core_b).then_with(|| match (early_a, early_b) {
        (Some(a), Some(b)) => compare_runs(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    })
}

/// Compares run by run: digits as a number, anything else as text; a prefix comes before the longer
/// text.
fn compare_runs(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && !b.is_empty() {
        let (run_a, rest_a) = run(a);
        let (run_b, rest_b) = run(b);
        let order = match (is_number(run_a), is_number(run_b)) {
            (true, true) => compare_numbers(run_a, run_b),
            _ => run_a.cmp(run_b),
        };
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
    a.len().cmp(&b.len())
}

fn is_number(run: &str) -> bool {
    run.starts_with(|first: char| first.is_ascii_digit())
}

/// Splits after the longest prefix that is all digits or has none. Tags are ASCII.
fn run(text: &str) -> (&str, &str) {
    let digits = is_number(text);
    let other = |character: char| character.is_ascii_digit() != digits;
    text.split_at(text.find(other).unwrap_or(text.len()))
}

/// Numbers in a tag can be larger than any integer type.
fn compare_numbers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tags(texts: &[&str]) -> Vec<Tag> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn versions_are_sorted_by_their_numbers() {
        let order = [
            "main",
            "nightly",
            "v0.9",
            "1.0.0-rc1",
            "1.0.0-rc2",
            "1.0.0-rc10",
            "1.0.0",
            "1.0.2",
            "1.0.10",
            "v1.1",
            "1.9",
            "1.10",
            "1.10.0",
            "20250101",
            "99999999999999999999999999999999",
            "100000000000000000000000000000000",
            "latest",
        ];
        let mut shuffled = order;
        shuffled.reverse();
        shuffled.swap(2, 9);
        assert_eq!(sorted(tags(&shuffled)), tags(&order));
    }

    #[test]
    fn signatures_are_no_versions() {
        let hex = "0123456789abcdef".repeat(4);
        let hidden = ["", ".sig", ".att", ".sbom"].map(|end| format!("sha256-{hex}{end}"));
        let hidden = hidden.each_ref().map(String::as_str);
        assert_eq!(sorted(tags(&hidden)), []);
        let shown = ["sha256-0123", "sha256"];
        assert_eq!(sorted(tags(&shown)).len(), 2);
    }

    #[test]
    fn a_tag_that_is_listed_twice_is_one() {
        assert_eq!(sorted(tags(&["1.0", "1.0"])), tags(&["1.0"]));
    }

    proptest! {
        /// `sort_by` may panic when the order is not total; few letters make many near misses.
        #[test]
        fn the_order_is_total(a in "[v0-2.a-]{1,6}", b in "[v0-2.a-]{1,6}", c in "[v0-2.a-]{1,6}") {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert_eq!(compare(&a, &b) == Ordering::Equal, a == b);
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le(), "{} {} {}", a, b, c);
            }
        }
    }
}
