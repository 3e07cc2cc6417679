//! Forwards a scheduler's output: to a pipe unchanged, to a terminal without escape sequences and
//! other control characters, so that it can neither change the terminal nor hide a line.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::adapter::StripBytes;
use schedkit_core::sanitize;
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
    Terminal(Box<TerminalFilter>),
}

/// Keeps state: an escape sequence, a character or a line break may be split between two pieces.
#[derive(Default)]
struct TerminalFilter {
    escapes: StripBytes,
    /// The beginning of a character.
    incomplete: Vec<u8>,
    after_return: bool,
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
            true => Self::Terminal(Box::default()),
            false => Self::Unchanged,
        }
    }

    fn write(&mut self, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Unchanged => to.write_all(bytes)?,
            Self::Terminal(filter) => to.write_all(filter.printable(bytes).as_bytes())?,
        }
        to.flush()
    }
}

impl TerminalFilter {
    /// A carriage return becomes a line break, so that nothing is overwritten.
    fn printable(&mut self, bytes: &[u8]) -> String {
        let mut plain = std::mem::take(&mut self.incomplete);
        for part in self.escapes.strip_next(bytes) {
            plain.extend_from_slice(part);
        }
        self.incomplete = plain.split_off(plain.len() - incomplete_suffix(&plain));
        let mut text = String::with_capacity(plain.len());
        for character in String::from_utf8_lossy(&plain).chars() {
            let after_return = std::mem::replace(&mut self.after_return, character == '\r');
            match character {
                '\n' if after_return => {}
                '\n' | '\r' => text.push('\n'),
                '\t' => text.push('\t'),
                other if sanitize::is_unsafe(other) => text.push('�'),
                other => text.push(other),
            }
        }
        text
    }
}

/// How many bytes at the end are the beginning of a character of UTF-8.
fn incomplete_suffix(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(3).zip(1..);
    let mut starts = last.filter(|(byte, _)| **byte >= 0xc0);
    match starts.next() {
        Some((0xc0..0xe0, 1) | (0xe0..0xf0, 1)) => 1,
        Some((0xe0..0xf0, 2)) => 2,
        Some((0xf0..0xf8, length)) => length,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_line_can_neither_be_overwritten_nor_contain_control_characters() {
        let mut filter = Filter::new(true);
        let mut shown = Vec::new();
        for piece in [
            &b"10%\r20%\r"[..],
            b"\nend\x08\x7f\r\n\tcol",
            // CSI of the C1 set, as UTF-8 and as a byte; then a character that is split.
            b"\xc2\x9b2J \x9b2J \xe2\x82",
            b"\xac \xc2",
            b"\x9d0;title\xf0",
        ] {
            filter.write(piece, &mut shown).unwrap();
        }
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.starts_with("10%\n20%\nend"), "{shown:?}");
        assert!(shown.contains("\n\tcol"), "{shown:?}");
        assert!(shown.contains("€ "), "{shown:?}");
        let is_safe = |c| matches!(c, '\n' | '\t') || !sanitize::is_unsafe(c);
        assert!(shown.chars().all(is_safe), "{shown:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_safe_for_a_terminal(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..12),
            text in "\\PC{0,20}",
        ) {
            let mut filter = Filter::new(true);
            let mut shown = Vec::new();
            for piece in &pieces {
                filter.write(piece, &mut shown).unwrap();
            }
            let shown = String::from_utf8(shown).unwrap();
            let is_safe = |c| matches!(c, '\n' | '\t') || !sanitize::is_unsafe(c);
            prop_assert!(shown.chars().all(is_safe), "{:?}", shown);
            // Printable text arrives as it is, wherever it is split.
            let text: String = text.chars().filter(|c| !sanitize::is_unsafe(*c)).collect();
            let mut filter = Filter::new(true);
            let mut shown = Vec::new();
            for byte in text.bytes() {
                filter.write(&[byte], &mut shown).unwrap();
            }
            prop_assert_eq!(String::from_utf8(shown).unwrap(), text);
        }
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
