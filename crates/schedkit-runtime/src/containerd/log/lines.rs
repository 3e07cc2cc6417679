//! Cuts the output of one stream into entries. Pure but for the time, which is a parameter.

use std::time::Duration;

use jiff::Timestamp;

use super::entry::{LineEnd, Source, time_text, write};

/// A longer line becomes several entries.
const MAX_TEXT: usize = 16 * 1024;
/// After this time the beginning of a line is written without its end: a program that waits for
/// something says so without ending the line.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(in crate::containerd) struct Lines {
    source: Source,
    /// A line that has not ended, and when it began.
    line: Vec<u8>,
    began: Timestamp,
    /// The text of the latest time: many lines have the same one.
    time: (Timestamp, String),
}

impl Lines {
    pub(in crate::containerd) fn new(source: Source) -> Self {
        Self {
            source,
            line: Vec::new(),
            began: Timestamp::UNIX_EPOCH,
            time: (Timestamp::UNIX_EPOCH, time_text(Timestamp::UNIX_EPOCH)),
        }
    }

    /// Appends the entries of the lines that have ended.
    pub(in crate::containerd) fn push(&mut self, bytes: &[u8], now: Timestamp, to: &mut Vec<u8>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let mut rest = part.strip_suffix(b"\n").unwrap_or(part);
            while self.line.len() + rest.len() > MAX_TEXT {
                let (fits, more) = rest.split_at(MAX_TEXT - self.line.len());
                self.extend(fits, now);
                self.end(LineEnd::Open, to);
                rest = more;
            }
            self.extend(rest, now);
            if part.ends_with(b"\n") {
                self.end(LineEnd::Newline, to);
            }
        }
    }

    /// Whether a line waits for its end.
    pub(in crate::containerd) fn is_open(&self) -> bool {
        !self.line.is_empty()
    }

    /// Appends a line that has waited too long for its end. A clock that was set back counts as
    /// that, too.
    pub(in crate::containerd) fn end_late(&mut self, now: Timestamp, to: &mut Vec<u8>) {
        let waited = now.duration_since(self.began).unsigned_abs();
        if waited >= PATIENCE {
            self.finish(to);
        }
    }

    /// Appends a line that has not ended.
    pub(in crate::containerd) fn finish(&mut self, to: &mut Vec<u8>) {
        if self.is_open() {
            self.end(LineEnd::Open, to);
        }
    }

    fn extend(&mut self, bytes: &[u8], now: Timestamp) {
        if self.line.is_empty() {
            self.began = now;
        }
        self.line.extend_from_slice(bytes);
    }

    fn end(&mut self, end: LineEnd, to: &mut Vec<u8>) {
        if self.time.0 != self.began {
            self.time = (self.began, time_text(self.began));
        }
        write(to, &self.time.1, self.source, end, &self.line);
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::Entry;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    fn texts(log: &[u8]) -> Vec<(LineEnd, String)> {
        let entries = log.split_inclusive(|byte| *byte == b'\n');
        let entries = entries.map(|line| Entry::parse(line.strip_suffix(b"\n").unwrap()).unwrap());
        let text = |entry: Entry<'_>| String::from_utf8(entry.text.to_vec()).unwrap();
        entries.map(|entry| (entry.end, text(entry))).collect()
    }

    #[test]
    fn a_line_that_does_not_end_is_written_late() {
        let mut lines = Lines::new(Source::Stderr);
        let mut log = Vec::new();
        lines.push(b"one\n\ntwo", at(0), &mut log);
        lines.end_late(at(0), &mut log);
        assert!(lines.is_open());
        let ended = |text: &str| (LineEnd::Newline, text.to_owned());
        assert_eq!(texts(&log), [ended("one"), ended("")]);
        log.clear();
        lines.end_late(at(1), &mut log);
        assert!(!lines.is_open());
        lines.push(b" and three\n", at(2), &mut log);
        let expected = [(LineEnd::Open, "two".to_owned()), ended(" and three")];
        assert_eq!(texts(&log), expected);
        // The clock was set back.
        lines.push(b"x", at(9), &mut log);
        lines.end_late(at(3), &mut log);
        assert!(!lines.is_open());
    }

    #[test]
    fn a_line_of_ten_megabytes_is_cut() {
        let mut lines = Lines::new(Source::Stdout);
        let mut log = Vec::new();
        for _ in 0..160 {
            lines.push(&[b'x'; 64 * 1024], at(0), &mut log);
            assert!(lines.line.len() <= MAX_TEXT);
        }
        lines.push(b"\n", at(0), &mut log);
        let texts = texts(&log);
        assert_eq!(texts.len(), (10 << 20) / MAX_TEXT);
        assert!(texts.iter().all(|(_, text)| text.len() <= MAX_TEXT));
        assert_eq!(texts.last().unwrap().0, LineEnd::Newline);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_it_is_split(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
        ) {
            let mut lines = Lines::new(Source::Stdout);
            let mut log = Vec::new();
            for (second, piece) in pieces.iter().enumerate() {
                lines.push(piece, at(second as i64), &mut log);
                if second % 3 == 0 {
                    lines.end_late(at(second as i64 + 1), &mut log);
                }
            }
            lines.finish(&mut log);
            let mut found = Vec::new();
            for line in log.split_inclusive(|byte| *byte == b'\n') {
                let entry = Entry::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
                found.extend_from_slice(entry.text);
                if entry.end == LineEnd::Newline {
                    found.push(b'\n');
                }
            }
            prop_assert_eq!(found, pieces.concat());
        }
    }
}
