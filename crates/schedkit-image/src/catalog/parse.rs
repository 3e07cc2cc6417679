//! Parses the text of a catalog, which is hostile. Errors have a position: strings are checked while
//! the JSON parser reads them, not afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schedkit_core::ImageRef;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::name::SchedulerName;
use crate::untrusted;

pub(super) const MAX_BYTES: usize = 1024 * 1024;
const MAX_ENTRIES: usize = 4096;

/// Why a text is no catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("line {line}, column {column}: {reason}")]
    At {
        /// Counted from 1.
        line: usize,
        /// Where the parser stopped in that line.
        column: usize,
        /// Fit to print.
        reason: String,
    },
    #[error("a catalog has at most {MAX_BYTES} bytes")]
    TooBig,
}

pub(super) fn parse(text: &str) -> Result<BTreeMap<SchedulerName, ImageRef>, CatalogError> {
    if text.len() > MAX_BYTES {
        return Err(CatalogError::TooBig);
    }
    let entries: Entries = serde_json::from_str(text).map_err(|error| with_position(&error))?;
    Ok(entries.0)
}

/// The JSON parser prints the position at the end of its message; ours starts with it.
fn with_position(error: &serde_json::Error) -> CatalogError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let position = format!(" at line {line} column {column}");
    let reason = message.strip_suffix(&position).unwrap_or(&message);
    CatalogError::At {
        line,
        column,
        reason: untrusted::brief(reason),
    }
}

struct Entries(BTreeMap<SchedulerName, ImageRef>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor).map(Self)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = BTreeMap<SchedulerName, ImageRef>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"an object { "<name>": { "imageURI": "<reference>" } }"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(Parsed(name)) = map.next_key::<Parsed<SchedulerName>>()? {
            if entries.contains_key(&name) {
                return Err(A::Error::custom(format!("{name} is listed twice")));
            }
            if entries.len() == MAX_ENTRIES {
                let reason = format!("more than {MAX_ENTRIES} schedulers");
                return Err(A::Error::custom(reason));
            }
            let Entry(image) = map.next_value()?;
            entries.insert(name, image);
        }
        Ok(entries)
    }
}

struct Entry(ImageRef);

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"an object { "imageURI": "<reference>" }"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let mut image = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "imageURI" {
                map.next_value::<IgnoredAny>()?;
            } else if image.is_some() {
                return Err(A::Error::custom("imageURI is set twice"));
            } else {
                image = Some(map.next_value::<Parsed<ImageRef>>()?.0);
            }
        }
        image
            .map(Entry)
            .ok_or_else(|| A::Error::custom("an entry without imageURI"))
    }
}

/// A string that is parsed while the JSON parser reads it.
struct Parsed<T>(T);

impl<'de, T> Deserialize<'de> for Parsed<T>
where
    T: FromStr,
    T::Err: std::error::Error,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ParsedVisitor(PhantomData))
    }
}

struct ParsedVisitor<T>(PhantomData<T>);

impl<T> Visitor<'_> for ParsedVisitor<T>
where
    T: FromStr,
    T::Err: std::error::Error,
{
    type Value = Parsed<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Parsed<T>, E> {
        text.parse().map(Parsed).map_err(|error| {
            let reason = untrusted::brief(&chain(&error));
            E::custom(format!("{:?}: {reason}", untrusted::brief(text)))
        })
    }
}

/// A parser's error is one text, so it includes the causes.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
