//! Forwards a scheduler's output: to a pipe unchanged, to a terminal without escape sequences and
//! other control characters, so that it can neither change the terminal nor hide a line.
//!
//! A thread writes it, so that a reader that does not read (a pager, Ctrl-S) blocks that thread only
//! and signals are heard. [`Written::pace`] keeps what waits for the thread small.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;
use std::thread;

use anstream::adapter::StripBytes;
use schedkit_core::sanitize;
use schedkit_runtime::{OutputChunk, OutputStream};
use tokio::sync::watch;

/// What may wait to be written before no more is read.
const MAX_WAITING: usize = 1 << 20;

/// Where a scheduler's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdoutTarget {
    Stdout,
    /// Standard output is for the JSON document.
    Stderr,
}

pub(crate) struct OutputForwarder {
    out: Filter,
    err: Filter,
    queue: Sender<(OutputStream, Vec<u8>)>,
    progress: watch::Sender<Progress>,
}

/// Tells how far the thread has got.
#[derive(Debug, Clone)]
pub(crate) struct Written(watch::Receiver<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// Bytes that are not yet written.
    waiting: usize,
    /// The reader has closed the pipe.
    closed: bool,
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

impl OutputForwarder {
    pub(crate) fn new(target: StdoutTarget) -> io::Result<Self> {
        // Not through the locks of `std::io`: a message of schedctl must not wait for this thread.
        let err = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let out = match target {
            StdoutTarget::Stdout => File::from(io::stdout().as_fd().try_clone_to_owned()?),
            StdoutTarget::Stderr => err.try_clone()?,
        };
        let (out_filter, err_filter) = (Filter::of(&out), Filter::of(&err));
        Self::to(out, err, out_filter, err_filter)
    }

    fn to(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        out_filter: Filter,
        err_filter: Filter,
    ) -> io::Result<Self> {
        let (queue, pieces) = channel();
        let progress = watch::Sender::new(Progress::default());
        let thread = thread::Builder::new().name("output".to_owned());
        let of_thread = progress.clone();
        thread.spawn(move || write_all(&pieces, &of_thread, out, err))?;
        Ok(Self {
            out: out_filter,
            err: err_filter,
            queue,
            progress,
        })
    }

    /// Does not wait for the reader.
    pub(crate) fn write(&mut self, piece: OutputChunk<'_>) {
        let filter = match piece.stream {
            OutputStream::Stdout => &mut self.out,
            OutputStream::Stderr => &mut self.err,
        };
        let bytes = filter.apply(piece.bytes);
        let count = bytes.len();
        self.progress
            .send_modify(|progress| progress.waiting += count);
        // The thread ends only after this.
        let _ = self.queue.send((piece.stream, bytes));
    }

    pub(crate) fn written(&self) -> Written {
        Written(self.progress.subscribe())
    }
}

impl Written {
    /// Awaits what produces the output, but only while the reader keeps up.
    pub(crate) async fn pace<T>(&self, output: impl Future<Output = T>) -> T {
        let mut output = pin!(output);
        let is_full = || self.0.borrow().waiting >= MAX_WAITING;
        loop {
            self.until(|progress| progress.waiting < MAX_WAITING).await;
            let done = poll_fn(|context| match output.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if is_full() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(done) = done.await {
                return done;
            }
        }
    }

    /// Returns once everything is written, or cannot be.
    pub(crate) async fn all(&self) {
        self.until(|progress| progress.waiting == 0).await;
    }

    /// Returns once the reader has closed the pipe.
    pub(crate) async fn closed(&self) {
        self.until(|progress| progress.closed).await;
    }

    async fn until(&self, condition: impl Fn(&Progress) -> bool) {
        // The thread is gone: nothing will change.
        let _ = self
            .0
            .clone()
            .wait_for(|progress| condition(progress))
            .await;
    }
}

/// The thread. Later pieces are tried after one that cannot be written: the other stream may work.
fn write_all(
    pieces: &Receiver<(OutputStream, Vec<u8>)>,
    progress: &watch::Sender<Progress>,
    mut out: impl Write,
    mut err: impl Write,
) {
    for (stream, bytes) in pieces {
        let written = match stream {
            OutputStream::Stdout => out.write_all(&bytes),
            OutputStream::Stderr => err.write_all(&bytes),
        };
        let broken = written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        progress.send_modify(|progress| {
            progress.waiting -= bytes.len();
            progress.closed |= broken;
        });
    }
}

impl Filter {
    fn of(target: &impl IsTerminal) -> Self {
        Self::new(target.is_terminal())
    }

    fn new(is_terminal: bool) -> Self {
        match is_terminal {
            true => Self::Terminal(Box::default()),
            false => Self::Unchanged,
        }
    }

    fn apply(&mut self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Unchanged => bytes.to_vec(),
            Self::Terminal(filter) => filter.printable(bytes).into_bytes(),
        }
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
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio::time::timeout;

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
            shown.extend(filter.apply(piece.as_bytes()));
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
            shown.extend(filter.apply(piece));
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
                shown.extend(filter.apply(piece));
            }
            let shown = String::from_utf8(shown).unwrap();
            let is_safe = |c| matches!(c, '\n' | '\t') || !sanitize::is_unsafe(c);
            prop_assert!(shown.chars().all(is_safe), "{:?}", shown);
            // Printable text arrives as it is, wherever it is split.
            let text: String = text.chars().filter(|c| !sanitize::is_unsafe(*c)).collect();
            let mut filter = Filter::new(true);
            let mut shown = Vec::new();
            for byte in text.bytes() {
                shown.extend(filter.apply(&[byte]));
            }
            prop_assert_eq!(String::from_utf8(shown).unwrap(), text);
        }
    }

    #[test]
    fn a_pipe_gets_the_output_unchanged() {
        let shown = Filter::new(false).apply(b"\x1b[31m\xff");
        assert_eq!(shown, b"\x1b[31m\xff");
    }

    #[tokio::test]
    async fn a_reader_that_does_not_read_stops_the_reading_and_nothing_else() {
        let (reader, writer) = io::pipe().unwrap();
        let unfiltered = || Filter::new(false);
        let mut forwarder =
            OutputForwarder::to(writer, io::sink(), unfiltered(), unfiltered()).unwrap();
        let written = forwarder.written();
        let stream = OutputStream::Stdout;
        let mut pieces = 0;
        let endless = async {
            loop {
                let bytes = &[b'x'; 64 * 1024];
                forwarder.write(OutputChunk { stream, bytes });
                pieces += 1;
                tokio::task::yield_now().await;
            }
        };
        let moment = Duration::from_millis(300);
        let paced = written.pace(endless);
        timeout(moment, paced).await.unwrap_err();
        assert!((16..20).contains(&pieces), "{pieces}");
        timeout(moment, written.all()).await.unwrap_err();
        drop(reader);
        written.closed().await;
        written.all().await;
    }
}
