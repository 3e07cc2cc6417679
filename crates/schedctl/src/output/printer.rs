//! Prints documents, warnings and errors.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

use anstyle::Style;
use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use schedctl_args::args::Format;
use schedkit_core::sanitize;
use serde::Serialize;

use super::document::{Document, ERROR, Layout, json};
use super::error::ErrorDocument;
use crate::exit::Exit;
use crate::forward_output::StdoutTarget;

const LINE_TIMEOUT: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

pub(crate) struct Printer {
    format: Format,
    warnings: Vec<String>,
}

/// The other end of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Open,
    Closed,
}

/// An error together with what is known nevertheless.
#[derive(Serialize)]
struct Failure<'a, D> {
    #[serde(flatten)]
    known: &'a D,
    error: &'a ErrorDocument,
}

#[derive(Serialize)]
struct Nothing {}

impl Printer {
    pub(crate) fn new(format: Format) -> Self {
        let warnings = Vec::new();
        Self { format, warnings }
    }

    /// Where the output of a followed scheduler goes.
    pub(crate) fn scheduler_stdout(&self) -> StdoutTarget {
        match self.format {
            Format::Text => StdoutTarget::Stdout,
            Format::Json => StdoutTarget::Stderr,
        }
    }

    pub(crate) fn print(&self, document: &impl Document) -> anyhow::Result<()> {
        let text = self.render(document, Layout::Pretty)?;
        ignore_closed_pipe(anstream::stdout().write_all(text.as_bytes()))
            .context("cannot print the result")
    }

    /// Prints one of several documents. The warnings so far are in this one only.
    pub(crate) fn print_next(&mut self, document: &impl Document) -> anyhow::Result<Reader> {
        let text = self.render(document, Layout::Line)?;
        self.warnings.clear();
        let mut out = anstream::stdout();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Closed),
            other => {
                other.context("cannot print the result")?;
                Ok(Reader::Open)
            }
        }
    }

    pub(crate) fn warn(&mut self, text: String) {
        tracing::warn!("{text}");
        self.warnings.push(text);
    }

    pub(crate) fn error(&self, error: &anyhow::Error) -> Exit {
        let (document, exit) = ErrorDocument::of(error);
        self.failure(&document, &Nothing {}, Layout::Pretty);
        exit
    }

    /// Prints what is known, and an error. The warnings so far are in this document only.
    pub(crate) fn partial(&mut self, known: &impl Document, error: String, layout: Layout) {
        if self.format == Format::Text {
            let text = sanitize::styled(&known.text());
            let _ = ignore_closed_pipe(anstream::stdout().write_all(text.as_bytes()));
        }
        let error = ErrorDocument::plain(error, Exit::Failure);
        self.failure(&error, known, layout);
        self.warnings.clear();
    }

    /// For errors in the command line.
    pub(super) fn usage_error(message: String) {
        let error = ErrorDocument::plain(message, Exit::Failure);
        Self::new(Format::Json).failure(&error, &Nothing {}, Layout::Pretty);
    }

    fn failure(&self, error: &ErrorDocument, known: &impl Serialize, layout: Layout) {
        print_line("error", ERROR, &error.text());
        if self.format == Format::Json
            && let Ok(json) = json(&Failure { known, error }, &self.warnings, layout)
        {
            let _ = io::stdout().write_all(json.as_bytes());
        }
    }

    fn render(&self, document: &impl Document, layout: Layout) -> anyhow::Result<String> {
        Ok(match self.format {
            Format::Text => sanitize::styled(&document.text()),
            Format::Json => json(document, &self.warnings, layout)?,
        })
    }
}

/// A reader that stops early, as in `schedctl list | head -1`, is not an error.
fn ignore_closed_pipe(written: io::Result<()>) -> io::Result<()> {
    let flushed = written.and_then(|()| io::stdout().flush());
    match flushed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A line on standard error. A reader that does not read does not keep schedctl from ending, or from
/// releasing its lock: then the line is left out.
pub(super) fn print_line(kind: &str, style: Style, text: &str) {
    if !takes_a_line(&io::stderr()) {
        return;
    }
    let text = sanitize::styled(text);
    let _ = writeln!(
        anstream::stderr(),
        "schedctl: {style}{kind}:{style:#} {text}"
    );
}

/// Waits for a moment, or until a signal. What cannot be asked takes it.
fn takes_a_line(target: &impl AsFd) -> bool {
    let mut targets = [PollFd::new(target, PollFlags::OUT)];
    let ready = poll(&mut targets, Some(&LINE_TIMEOUT));
    !matches!(ready, Ok(0) | Err(Errno::INTR))
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn a_full_pipe_takes_no_line() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        assert!(takes_a_line(&writer));
        while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
        assert!(!takes_a_line(&writer));
        drop(reader);
        assert!(takes_a_line(&writer), "writing fails at once");
    }
}
