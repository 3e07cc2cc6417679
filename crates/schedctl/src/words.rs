//! What a scheduler says, passed on: to a pipe as it came, to a terminal without anything that
//! would command it, colours included.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::adapter::StripBytes;
use schedkit_runtime::{OutputChunk, OutputStream};
use tokio::sync::Notify;

/// Where a scheduler's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// To ours.
    Same,
    /// To our standard error: the other one has a document for a program.
    Aside,
}

/// Passes words on.
pub(crate) struct Words<'a> {
    place: Place,
    out: Filter,
    err: Filter,
    /// Told when nobody reads any more.
    gone: &'a Notify,
}

enum Filter {
    AsItCame,
    /// Remembers a command that was cut in two.
    Plain(Box<StripBytes>),
}

impl<'a> Words<'a> {
    pub(crate) fn new(place: Place, gone: &'a Notify) -> Self {
        let out = match place {
            Place::Same => io::stdout().is_terminal(),
            Place::Aside => io::stderr().is_terminal(),
        };
        Self {
            place,
            out: Filter::new(out),
            err: Filter::new(io::stderr().is_terminal()),
            gone,
        }
    }

    /// Some more.
    pub(crate) fn show(&mut self, piece: OutputChunk<'_>) {
        let written = match (piece.stream, self.place) {
            (OutputStream::Stdout, Place::Same) => self.out.write(piece.bytes, &mut io::stdout()),
            (OutputStream::Stdout, Place::Aside) => self.out.write(piece.bytes, &mut io::stderr()),
            (OutputStream::Stderr, _) => self.err.write(piece.bytes, &mut io::stderr()),
        };
        if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            self.gone.notify_one();
        }
    }
}

impl Filter {
    fn new(is_terminal: bool) -> Self {
        match is_terminal {
            true => Self::Plain(Box::default()),
            false => Self::AsItCame,
        }
    }

    fn write(&mut self, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::AsItCame => to.write_all(bytes)?,
            Self::Plain(state) => {
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
    fn a_terminal_is_not_commanded_not_even_in_two_pieces() {
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
    fn a_pipe_gets_it_as_it_came() {
        let mut shown = Vec::new();
        Filter::new(false)
            .write(b"\x1b[31m\xff", &mut shown)
            .unwrap();
        assert_eq!(shown, b"\x1b[31m\xff");
    }
}
