//! Parses one page of referrers: an index of which only few fields are read.
//!
//! Annotations are most of a page's bytes, and whoever may push writes them. Only those by which
//! Sigstore tells a signature from an attestation are kept, and only short ones; the referrer's own
//! manifest has all of them, under a digest.

use std::collections::BTreeMap;
use std::fmt;

use schedkit_core::Digest;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::registry::content::{Descriptor, digest, is_index};
use crate::registry::problem::BadResponse;

const KEPT: &str = "dev.sigstore.bundle.";
const MAX_KEPT_BYTES: usize = 256;
const MAX_KEPT: usize = 4;
/// In all pages. Attestations that are added daily need years to get there.
pub(super) const MAX_REFERRERS: usize = 10_000;

/// The entries of a page, at most one more than [`MAX_REFERRERS`].
pub(super) fn parse(body: &[u8]) -> Result<Vec<Descriptor>, BadResponse> {
    if !is_index(body)? {
        return Err(BadResponse::NoIndex);
    }
    let Page { manifests } = serde_json::from_slice(body)?;
    let Entries(entries) = manifests.unwrap_or_default();
    Ok(entries)
}

#[derive(Deserialize)]
struct Page {
    // Go writes an empty list as null.
    manifests: Option<Entries>,
}

#[derive(Default)]
struct Entries(Vec<Descriptor>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    media_type: String,
    #[serde(deserialize_with = "digest")]
    digest: Digest,
    size: u64,
    #[serde(default)]
    artifact_type: Option<String>,
    #[serde(default)]
    annotations: Option<KeptAnnotations>,
}

#[derive(Default)]
struct KeptAnnotations(BTreeMap<String, String>);

impl From<Entry> for Descriptor {
    fn from(entry: Entry) -> Self {
        let Entry {
            media_type,
            digest,
            size,
            artifact_type,
            annotations,
        } = entry;
        Self {
            media_type,
            digest,
            size,
            artifact_type,
            annotations: annotations.unwrap_or_default().0,
            platform: None,
        }
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of descriptors")
            }

            /// One entry at a time, so that the annotations of a page are never all in memory.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while entries.len() <= MAX_REFERRERS
                    && let Some(entry) = list.next_element::<Entry>()?
                {
                    entries.push(entry.into());
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

impl<'de> Deserialize<'de> for KeptAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;

        impl<'de> Visitor<'de> for Map {
            type Value = KeptAnnotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("annotations")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KeptAnnotations, A::Error> {
                let mut kept = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    let is_ours = name.starts_with(KEPT) && name.len() <= MAX_KEPT_BYTES;
                    if !is_ours || kept.len() == MAX_KEPT {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let value: String = map.next_value()?;
                    if value.len() <= MAX_KEPT_BYTES {
                        kept.insert(name, value);
                    }
                }
                Ok(KeptAnnotations(kept))
            }
        }

        deserializer.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn list(entries: &[String]) -> String {
        format!(r#"{{"manifests": [{}]}}"#, entries.join(","))
    }

    fn entry(annotations: &str) -> String {
        format!(r#"{{"digest": "{DIGEST}", "size": 2, "annotations": {annotations}}}"#)
    }

    #[test]
    fn only_short_annotations_of_sigstore_are_kept() {
        let kept = |annotations: &str| {
            let page = list(&[entry(annotations)]);
            let mut entries = parse(page.as_bytes()).unwrap();
            entries.remove(0).annotations
        };
        let name = "dev.sigstore.bundle.predicateType";
        assert_eq!(
            kept(&format!(r#"{{"a": "b", "{name}": "c", "d": [1]}}"#)),
            BTreeMap::from([(name.to_owned(), "c".to_owned())])
        );
        assert!(kept("null").is_empty());
        let long = "x".repeat(MAX_KEPT_BYTES + 1);
        assert!(kept(&format!(r#"{{"{name}": "{long}"}}"#)).is_empty());
        let many: Vec<String> = (0..9).map(|n| format!(r#""{KEPT}{n}": "x""#)).collect();
        assert_eq!(kept(&format!("{{{}}}", many.join(","))).len(), MAX_KEPT);
    }

    #[test]
    fn a_page_has_one_entry_more_than_its_limit_at_most() {
        for (listed, found) in [(0, 0), (5, 5), (MAX_REFERRERS + 5, MAX_REFERRERS + 1)] {
            let page = list(&vec![entry("{}"); listed]);
            assert_eq!(parse(page.as_bytes()).unwrap().len(), found);
        }
        assert!(parse(br#"{"manifests": null}"#).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, text in r#"\{"manifests": ?[\[\]{},:"a-z0-9]{0,40}"#) {
            let _ = parse(&bytes);
            let _ = parse(text.as_bytes());
        }
    }
}
