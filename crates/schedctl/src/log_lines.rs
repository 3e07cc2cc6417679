//! Selects lines of a log: the last ones, those since a time, with or without their times. Pure.
//!
//! Lines of a timed log begin with an RFC 3339 time and a space, which the runtime has written; a
//! line without one counts as following the line before it. Times in the text are the scheduler's own
//! and stay.

use std::collections::VecDeque;

use jiff::Timestamp;
use schedkit_runtime::{OutputChunk, OutputStream};

use crate::request::Times;

/// A longer line is passed on in parts.
const MAX_LINE: usize = 64 * 1024;
/// More lines would not fit into memory.
const MAX_TAIL: usize = 100_000;

/// What the runtime has written before each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinePrefix {
    None,
    Time,
}

#[derive(Debug)]
pub(crate) struct LogLines {
    prefix: LinePrefix,
    since: Option<Timestamp>,
    times: Times,
    /// Lines that are kept back because only the last ones are wanted.
    tail: Option<Tail>,
    stdout: Stream,
    stderr: Stream,
}

#[derive(Debug)]
struct Tail {
    lines: VecDeque<(OutputStream, Vec<u8>)>,
    wanted: usize,
}

#[derive(Debug, Default)]
struct Stream {
    /// A line that has not ended.
    line: Vec<u8>,
    /// Whether the line before was wanted.
    wanted: bool,
    /// Whether a part of the line was passed on: the rest has no prefix.
    goes_on: bool,
}

impl LogLines {
    pub(crate) fn new(
        prefix: LinePrefix,
        since: Option<Timestamp>,
        times: Times,
        tail: Option<usize>,
    ) -> Self {
        let tail = tail.map(|wanted| Tail {
            lines: VecDeque::new(),
            wanted: wanted.min(MAX_TAIL),
        });
        Self {
            prefix,
            since,
            times,
            tail,
            stdout: Stream::default(),
            stderr: Stream::default(),
        }
    }

    pub(crate) fn push(&mut self, piece: OutputChunk<'_>, print: &mut dyn FnMut(OutputChunk<'_>)) {
        for part in piece.bytes.split_inclusive(|byte| *byte == b'\n') {
            let stream = self.stream(piece.stream);
            stream.line.extend_from_slice(part);
            if part.ends_with(b"\n") || stream.line.len() >= MAX_LINE {
                self.end_line(piece.stream, print);
            }
        }
    }

    /// The end of what is there now: prints the last lines. What comes later is printed at once.
    pub(crate) fn end_tail(&mut self, print: &mut dyn FnMut(OutputChunk<'_>)) {
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            self.end_line(stream, print);
        }
        for (stream, bytes) in self.tail.take().into_iter().flat_map(|tail| tail.lines) {
            print(OutputChunk {
                stream,
                bytes: &bytes,
            });
        }
    }

    fn stream(&mut self, stream: OutputStream) -> &mut Stream {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    fn end_line(&mut self, stream: OutputStream, print: &mut dyn FnMut(OutputChunk<'_>)) {
        let (prefix, since, times) = (self.prefix, self.since, self.times);
        let state = self.stream(stream);
        let line = std::mem::take(&mut state.line);
        if line.is_empty() {
            return;
        }
        let goes_on = std::mem::replace(&mut state.goes_on, !line.ends_with(b"\n"));
        let (time, text) = match prefix {
            LinePrefix::Time if !goes_on => split_time(&line),
            LinePrefix::Time | LinePrefix::None => (None, &line[..]),
        };
        state.wanted = match (since, time) {
            (None, _) => true,
            (Some(since), Some(time)) => time >= since,
            (Some(_), None) => state.wanted,
        };
        if !state.wanted {
            return;
        }
        let bytes = match times {
            Times::Shown => line.as_slice(),
            Times::Hidden => text,
        };
        match &mut self.tail {
            None => print(OutputChunk { stream, bytes }),
            Some(tail) => {
                tail.lines.push_back((stream, bytes.to_vec()));
                if tail.lines.len() > tail.wanted {
                    tail.lines.pop_front();
                }
            }
        }
    }
}

/// The time of a line and the rest.
fn split_time(line: &[u8]) -> (Option<Timestamp>, &[u8]) {
    let space = line.iter().take(40).position(|byte| *byte == b' ');
    let parsed = space.and_then(|at| {
        let time = std::str::from_utf8(&line[..at]).ok()?.parse().ok()?;
        Some((Some(time), &line[at + 1..]))
    });
    parsed.unwrap_or((None, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "2026-01-31T08:00:00.000000001Z one\n\
        2026-01-31T08:00:01+00:00 two\nits second line\n2026-01-31T08:00:02Z three";

    fn printed(mut lines: LogLines, pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut print = |piece: OutputChunk<'_>| out.extend_from_slice(piece.bytes);
        for piece in pieces {
            let (stream, bytes) = (OutputStream::Stdout, piece.as_bytes());
            lines.push(OutputChunk { stream, bytes }, &mut print);
        }
        lines.end_tail(&mut print);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_selected_by_time_and_number() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let second = || at("2026-01-31T08:00:01Z");
        for (since, times, tail, expected) in [
            (None, Times::Shown, None, LOG),
            (
                None,
                Times::Hidden,
                None,
                "one\ntwo\nits second line\nthree",
            ),
            (second(), Times::Hidden, None, "two\nits second line\nthree"),
            (second(), Times::Hidden, Some(1), "three"),
            (None, Times::Hidden, Some(2), "its second line\nthree"),
            (None, Times::Hidden, Some(0), ""),
            (at("2027-01-01T00:00:00Z"), Times::Shown, None, ""),
        ] {
            let whole = printed(LogLines::new(LinePrefix::Time, since, times, tail), &[LOG]);
            assert_eq!(whole, expected, "{since:?} {times:?} {tail:?}");
            let bytes: Vec<String> = LOG.chars().map(String::from).collect();
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            assert_eq!(
                printed(LogLines::new(LinePrefix::Time, since, times, tail), &bytes),
                expected
            );
        }
    }

    #[test]
    fn what_comes_after_the_tail_is_printed_at_once() {
        let mut lines = LogLines::new(LinePrefix::None, None, Times::Hidden, Some(1));
        let mut out = Vec::new();
        let mut print = |piece: OutputChunk<'_>| out.extend_from_slice(piece.bytes);
        let stream = OutputStream::Stderr;
        for (bytes, end) in [(&b"a\nb\n"[..], true), (b"c\nd\n", false)] {
            lines.push(OutputChunk { stream, bytes }, &mut print);
            if end {
                lines.end_tail(&mut print);
            }
        }
        assert_eq!(out, b"b\nc\nd\n");
    }

    #[test]
    fn only_the_prefix_of_the_runtime_is_taken_away() {
        let own = "2026-01-31T07:00:00Z attached\n";
        let lines = |prefix| LogLines::new(prefix, None, Times::Hidden, Some(9));
        assert_eq!(printed(lines(LinePrefix::None), &[own]), own);
        let prefixed = format!("2026-01-31T08:00:00Z {own}");
        assert_eq!(printed(lines(LinePrefix::Time), &[&prefixed]), own);
        // The rest of a long line begins with a time by chance.
        let begin = format!("2026-01-31T08:00:00Z {}", "x".repeat(MAX_LINE));
        let whole = printed(lines(LinePrefix::Time), &[&begin, own]);
        assert!(whole.ends_with(own), "{}", &whole[MAX_LINE - 10..]);
    }

    #[test]
    fn a_long_line_is_not_collected() {
        let mut lines = LogLines::new(LinePrefix::None, None, Times::Hidden, None);
        let bytes = vec![b'x'; 10 << 20];
        let (mut parts, stream) = (0, OutputStream::Stdout);
        for bytes in bytes.chunks(1000) {
            lines.push(OutputChunk { stream, bytes }, &mut |_| parts += 1);
            assert!(lines.stdout.line.len() <= MAX_LINE);
        }
        assert!(parts > 100, "{parts}");
    }
}
