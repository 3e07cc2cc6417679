//! Forwards a scheduler's output: to a pipe unchanged, to a terminal without escape sequences.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::adapter::StripBytes;
use schedkit_runtime::{OutputChunk, OutputStream};
use tokio::sync::Notify;

/// Where a scheduler's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdoutTarget {
    Stdout,
    /// Standard output is for the JSON document.
    Stderr,
}

pub(crate) struct OutputForwarder<'a> {
    target: StdoutTarget,
    out: Filter,
    err: Filter,
    /// Notified when the reader has closed the pipe.
    closed: &'a Notify,
}

enum Filter {
    Unchanged,
    /// Keeps state: an escape sequence may be split between two pieces.
    Strip(Box<StripBytes>),
}

impl<'a> OutputForwarder<'a> {
    pub(crate) fn new(target: StdoutTarget, closed: &'a Notify) -> Self {
        let out = match target {
            StdoutTarget::Stdout => io::stdout().is_terminal(),
            StdoutTarget::Stderr => io::stderr().is_terminal(),
        };
        Self {
            target,
            out: Filter::new(out),
            err: Filter::new(io::stderr().is_terminal()),
            closed,
        }
    }

    pub(crate) fn write(&mut self, piece: OutputChunk<'_>) {
        let written = match (piece.stream, self.target) {
            (OutputStream::Stdout, StdoutTarget::Stdout) => {
                self.out.write(piece.bytes, &mut io::stdout())
            }
            (OutputStream::Stdout, StdoutTarget::Stderr) => {
                self.out.write(piece.bytes, &mut io::stderr())
            }
            (OutputStream::Stderr, _) => self.err.write(piece.bytes, &mut io::stderr()),
        };
        if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            self.closed.notify_one();
        }
    }
}

impl Filter {
    fn new(is_terminal: bool) -> Self {
        match is_terminal {
            true => Self::Strip(Box::default()),
            false => Self::Unchanged,
        }
    }

    fn write(&mut self, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Unchanged => to.write_all(bytes)?,
            Self::Strip(state) => {
                for plain in state.strip_next(bytes) {
                    to.write_all(plain)?;
                }
            }
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_a_terminal_even_if_split() {
        let mut filter = Filter::new(true);
        let mut shown = Vec::new();
        for piece in [
            "a\x1b[3",
            "1mred\x1b[0m\n\x1b]52;c;",
            "ZXZpbA==\x07b\x1b[2J",
        ] {
            filter.write(piece.as_bytes(), &mut shown).unwrap();
        }
        assert_eq!(String::from_utf8(shown).unwrap(), "ared\nb");
    }

    #[test]
    fn a_pipe_gets_the_output_unchanged() {
        let mut shown = Vec::new();
        Filter::new(false)
            .write(b"\x1b[31m\xff", &mut shown)
            .unwrap();
        assert_eq!(shown, b"\x1b[31m\xff");
    }
}
