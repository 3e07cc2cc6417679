//! Everything that is printed. Standard output has the result and nothing else: text, or exactly
//! one JSON document, also on errors; `events` and `status --watch` print one document per line.
//! Standard error has warnings, errors, the log, and on a terminal a progress line.

pub(crate) mod completion;
pub(crate) mod config;
mod container;
pub(crate) mod doctor;
mod document;
pub(crate) mod enable;
mod error;
pub(crate) mod events;
mod image_source;
pub(crate) mod images;
pub(crate) mod info;
mod kernel;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod policy;
mod policy_document;
mod printer;
pub(crate) mod progress;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod pull;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod stop;
mod table;
pub(crate) mod trial;
pub(crate) mod trust;
mod trust_basis;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod versions;
pub(crate) mod wait;

pub(crate) use document::{Document, Layout};
pub(crate) use printer::{Printer, Reader};
