//! Prints what commands found: for people, or as JSON.

mod age;
mod explanation;
mod history;
mod message;
mod nodes;
mod plan;
mod rollout;
mod status;
mod style;
mod table;
mod tree;

use std::io::{self, ErrorKind, Write};

use jiff::Timestamp;
use kubectl_sx_args::args::Format;
use schedkit_core::sanitize;
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::exit::Exit;

/// Something that can be printed.
pub(crate) trait Document: Serialize {
    /// For people; with styles, which are removed where the output is no terminal.
    fn text(&self, now: Timestamp) -> String;
}

pub(crate) struct Printer {
    format: Format,
}

/// The other end of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Open,
    Closed,
}

impl Printer {
    pub(crate) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(crate) fn print(&self, document: &impl Document) -> Result<Reader, Error> {
        let json = || serde_json::to_string_pretty(document).unwrap_or_default() + "\n";
        self.write(&self.render(document, json))
    }

    /// One of several: a line of JSON each.
    pub(crate) fn print_next(&self, document: &impl Document) -> Result<Reader, Error> {
        let json = || serde_json::to_string(document).unwrap_or_default() + "\n";
        self.write(&self.render(document, json))
    }

    /// In place of what was printed before, where that is possible.
    pub(crate) fn redraw(&self, document: &impl Document) -> Result<Reader, Error> {
        match self.redraws() {
            true => {
                let text = document.text(Timestamp::now());
                // To the first column of the first line, then clear what was there.
                self.write(&format!("\u{1b}[H\u{1b}[2J{}", sanitize::styled(&text)))
            }
            false => self.print_next(document),
        }
    }

    /// Whether [`Printer::redraw`] replaces what was printed.
    pub(crate) fn redraws(&self) -> bool {
        use std::io::IsTerminal;
        self.format == Format::Text && io::stdout().is_terminal()
    }

    pub(crate) fn error(&self, error: &Error) -> Exit {
        let text = sanitize::printable(&sked::snapshot::chain(error));
        let red = style::ERROR;
        let _ = writeln!(anstream::stderr(), "{red}error:{red:#} {text}");
        if self.format == Format::Json {
            let _ = writeln!(io::stdout(), "{}", json!({"error": text}));
        }
        Exit::Failure
    }

    fn render(&self, document: &impl Document, json: impl Fn() -> String) -> String {
        match self.format {
            Format::Text => sanitize::styled(&document.text(Timestamp::now())),
            Format::Json => sanitize::json(&json()),
        }
    }

    /// A reader that stops early, as in `kubectl sx nodes | head -1`, is no error.
    fn write(&self, text: &str) -> Result<Reader, Error> {
        let mut out = anstream::stdout();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(Reader::Open),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Closed),
            Err(error) => Err(Error::Print(error)),
        }
    }
}
