//! The catalog's text, hostile until it has been through here. Every complaint knows its place:
//! words are checked while the JSON reader stands on them, not afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schedkit_core::ImageRef;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::name::SchedulerName;
use crate::foreign;

/// The most bytes that are looked at, however they come.
pub(super) const LARGEST: usize = 1024 * 1024;
const MOST_ENTRIES: usize = 4096;

/// Why a text is no catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Something is wrong at one place.
    #[error("line {line}, column {column}: {reason}")]
    At {
        /// Counted from 1.
        line: usize,
        /// How far the reader had come in that line.
        column: usize,
        /// What is wrong, fit to print.
        reason: String,
    },
    /// More than any catalog needs.
    #[error("a catalog has at most {LARGEST} bytes")]
    TooBig,
}

pub(super) fn parse(text: &str) -> Result<BTreeMap<SchedulerName, ImageRef>, CatalogError> {
    if text.len() > LARGEST {
        return Err(CatalogError::TooBig);
    }
    let entries: Entries = serde_json::from_str(text).map_err(|error| placed(&error))?;
    Ok(entries.0)
}

/// The JSON reader says the place at the end of its sentence; ours begins with it.
fn placed(error: &serde_json::Error) -> CatalogError {
    let (line, column) = (error.line(), error.column());
    let sentence = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = sentence.strip_suffix(&place).unwrap_or(&sentence);
    CatalogError::At {
        line,
        column,
        reason: foreign::brief(reason),
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
        while let Some(Word(name)) = map.next_key::<Word<SchedulerName>>()? {
            if entries.contains_key(&name) {
                return Err(A::Error::custom(format!("{name} stands here twice")));
            }
            if entries.len() == MOST_ENTRIES {
                let reason = format!("more than {MOST_ENTRIES} schedulers");
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
                return Err(A::Error::custom("imageURI stands here twice"));
            } else {
                image = Some(map.next_value::<Word<ImageRef>>()?.0);
            }
        }
        image
            .map(Entry)
            .ok_or_else(|| A::Error::custom("an entry without imageURI"))
    }
}

/// A string that is parsed on the spot.
struct Word<T>(T);

impl<'de, T> Deserialize<'de> for Word<T>
where
    T: FromStr,
    T::Err: std::error::Error,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordVisitor(PhantomData))
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<T> Visitor<'_> for WordVisitor<T>
where
    T: FromStr,
    T::Err: std::error::Error,
{
    type Value = Word<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Word<T>, E> {
        text.parse().map(Word).map_err(|error| {
            let reason = foreign::brief(&chain(&error));
            E::custom(format!("{:?}: {reason}", foreign::brief(text)))
        })
    }
}

/// A reader's error is one text, so the causes go along.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
