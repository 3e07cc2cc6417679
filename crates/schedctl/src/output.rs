//! What people and programs see. Standard output has the result and nothing else: text, or
//! exactly one JSON document, also when something went wrong; what goes on and on has one a line.
//! Standard error is for people: warnings, errors, what `--log-level` asks for, and on a terminal
//! a note while we wait.

pub(crate) mod boot;
pub(crate) mod completion;
mod container;
pub(crate) mod doctor;
pub(crate) mod events;
mod failure;
pub(crate) mod info;
mod kernel;
pub(crate) mod list;
pub(crate) mod log;
mod provenance;
pub(crate) mod ps;
pub(crate) mod pulled;
pub(crate) mod settings;
pub(crate) mod started;
pub(crate) mod status;
pub(crate) mod steps;
pub(crate) mod stopped;
mod table;
pub(crate) mod usage;
pub(crate) mod verdict;
pub(crate) mod versions;
pub(crate) mod wait;
pub(crate) mod waiting;

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use schedctl_args::args::Format;
use schedkit_image::foreign;
use serde::Serialize;

use crate::exit::Exit;
use crate::output::failure::Told;
use crate::words::Place;

/// Counted up when a document changes its meaning, which it never should.
const SCHEMA_VERSION: &str = "1";
/// Enough for a refusal that lists several candidates.
const LONGEST_CAUSE: usize = 4000;

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// What a command prints.
pub(crate) trait Document: Serialize {
    /// For people; ends with a line break.
    fn text(&self) -> String;
}

/// Prints, and remembers what was said on the way.
pub(crate) struct Printer {
    format: Format,
    warnings: Vec<String>,
}

/// How much room a JSON document takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As much as is good to read.
    Pages,
    /// One line.
    Line,
}

/// Whoever reads what we print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    There,
    /// The other end of the pipe is closed: there is no point in going on.
    Gone,
}

#[derive(Serialize)]
struct Envelope<'a, D> {
    schema_version: &'static str,
    #[serde(flatten)]
    document: &'a D,
    warnings: &'a [String],
}

/// Why there is no result, and what is known all the same.
#[derive(Serialize)]
struct Failure<'a, D> {
    #[serde(flatten)]
    known: &'a D,
    error: Told,
}

/// Nothing is known.
#[derive(Serialize)]
struct Nothing {}

impl Printer {
    pub(crate) fn new(format: Format) -> Self {
        let warnings = Vec::new();
        Self { format, warnings }
    }

    /// Where the words of a scheduler go that somebody stays with: standard output is for documents
    /// where programs read.
    pub(crate) fn place_of_words(&self) -> Place {
        match self.format {
            Format::Text => Place::Same,
            Format::Json => Place::Aside,
        }
    }

    /// The result.
    pub(crate) fn print(&self, document: &impl Document) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Text => document.text(),
            Format::Json => self.json(document, Shape::Pages)?,
        };
        finish(anstream::stdout().write_all(text.as_bytes())).context("cannot print the result")
    }

    /// One of many results, the next of which may be long in coming. Tells whether anybody still
    /// reads. What was warned of is in this one only.
    pub(crate) fn print_next(&mut self, document: &impl Document) -> anyhow::Result<Reader> {
        let text = match self.format {
            Format::Text => document.text(),
            Format::Json => self.json(document, Shape::Line)?,
        };
        self.warnings.clear();
        let mut out = anstream::stdout();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
            other => {
                other.context("cannot print the result")?;
                Ok(Reader::There)
            }
        }
    }

    /// Something that a person should know and that is no reason to stop.
    pub(crate) fn warn(&mut self, sentence: String) {
        tracing::warn!("{sentence}");
        self.warnings.push(sentence);
    }

    /// Why there is no result.
    pub(crate) fn error(&self, error: &anyhow::Error) -> Exit {
        let (told, exit) = failure::tell(error);
        self.failure(told, &Nothing {}, Shape::Pages);
        exit
    }

    /// Why there is no result, after what is known all the same.
    pub(crate) fn partial(&self, known: &impl Document, why: String, shape: Shape) {
        if self.format == Format::Text {
            let _ = finish(anstream::stdout().write_all(known.text().as_bytes()));
        }
        self.failure(Told::plain(why, Exit::Trouble), known, shape);
    }

    fn failure(&self, error: Told, known: &impl Serialize, shape: Shape) {
        say("error", ERROR, &error.text());
        if self.format == Format::Json
            && let Ok(json) = self.json(&Failure { known, error }, shape)
        {
            let _ = io::stdout().write_all(json.as_bytes());
        }
    }

    fn json(&self, document: &impl Serialize, shape: Shape) -> anyhow::Result<String> {
        let envelope = Envelope {
            schema_version: SCHEMA_VERSION,
            document,
            warnings: &self.warnings,
        };
        let json = match shape {
            Shape::Pages => serde_json::to_string_pretty(&envelope)?,
            Shape::Line => serde_json::to_string(&envelope)?,
        };
        Ok(json + "\n")
    }
}

/// That nobody reads on (`schedctl list | head -1`) is no failure of ours.
fn finish(written: io::Result<()>) -> io::Result<()> {
    let flushed = written.and_then(|()| io::stdout().flush());
    match flushed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn say(kind: &str, style: Style, sentence: &str) {
    let _ = writeln!(
        anstream::stderr(),
        "schedctl: {style}{kind}:{style:#} {sentence}"
    );
}

/// An error and its causes in one line, safe to print. Each is cut: some quote what came from
/// outside, and that can be megabytes.
pub(crate) fn sentence(error: &dyn Error) -> String {
    let cut = |error: &dyn Error| foreign::shortened(&error.to_string(), LONGEST_CAUSE);
    let mut text = cut(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = cut(error);
        // Transparent wrappers repeat the sentence of what they wrap.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    foreign::printable(&text)
}

/// What a person sees where there is no colour.
#[cfg(test)]
fn shown(document: &impl Document) -> String {
    anstream::adapter::strip_str(&document.text()).to_string()
}

/// The whole JSON document as a program gets it, held against its schema.
#[cfg(test)]
pub(crate) fn judged(schema: &str, document: &impl Document) -> serde_json::Value {
    let json = Printer::new(Format::Json).json(document, Shape::Pages);
    let json = serde_json::from_str(&json.unwrap()).unwrap();
    schema::check(schema, &json);
    json
}

#[cfg(test)]
#[path = "../tests/shared/schema.rs"]
mod schema;
