//! What people and programs see. Standard output has the result and nothing else: text, or
//! exactly one JSON document, also when something went wrong. Standard error is for people:
//! warnings, errors, and on a terminal a note while we wait.

pub(crate) mod info;
pub(crate) mod list;
mod provenance;
mod table;
pub(crate) mod usage;
pub(crate) mod verdict;
pub(crate) mod versions;
pub(crate) mod waiting;

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use schedkit_image::foreign;
use serde::Serialize;

use crate::args::Format;
use crate::exit::Exit;

/// Counted up when a document changes its meaning, which it never should.
const SCHEMA_VERSION: &str = "1";
/// Enough for a refusal that lists several candidates.
const LONGEST_CAUSE: usize = 4000;

const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

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

#[derive(Serialize)]
struct Envelope<'a, D> {
    schema_version: &'static str,
    #[serde(flatten)]
    document: &'a D,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Failure {
    error: Reason,
}

#[derive(Serialize)]
struct Reason {
    message: String,
    exit_code: u8,
}

impl Printer {
    pub(crate) fn new(format: Format) -> Self {
        let warnings = Vec::new();
        Self { format, warnings }
    }

    /// The result.
    pub(crate) fn print(&self, document: &impl Document) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Text => document.text(),
            Format::Json => self.json(document)?,
        };
        finish(anstream::stdout().write_all(text.as_bytes())).context("cannot print the result")
    }

    /// Something that a person should know and that is no reason to stop.
    pub(crate) fn warn(&mut self, sentence: String) {
        say("warning", WARNING, &sentence);
        self.warnings.push(sentence);
    }

    /// Why there is no result.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.failure(sentence(error.as_ref()));
    }

    fn failure(&self, message: String) {
        say("error", ERROR, &message);
        if self.format == Format::Json {
            let exit_code = Exit::Trouble as u8;
            let error = Reason { message, exit_code };
            if let Ok(json) = self.json(&Failure { error }) {
                let _ = io::stdout().write_all(json.as_bytes());
            }
        }
    }

    fn json(&self, document: &impl Serialize) -> anyhow::Result<String> {
        let envelope = Envelope {
            schema_version: SCHEMA_VERSION,
            document,
            warnings: &self.warnings,
        };
        let json = serde_json::to_string_pretty(&envelope)?;
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
