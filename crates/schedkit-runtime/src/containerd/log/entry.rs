//! A line of a log file: when, which stream, and a part of its output. Pure.
//!
//! The format is that of the kubelet's logs, with a third stream for the log writer itself:
//!
//! ```text
//! 2026-01-31T08:00:00.000000001Z schedctl F part 1
//! 2026-01-31T08:00:00.000000002Z stdout F a line
//! 2026-01-31T08:00:00.000000003Z stderr P the beginning of a
//! 2026-01-31T08:00:00.000000004Z stderr F  long line
//! ```

use jiff::Timestamp;

const SHORTEST_TIME: usize = "2026-01-31T08:00:00Z".len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::containerd) enum Source {
    Stdout,
    Stderr,
    /// The text is a [`Note`].
    Writer,
}

/// What follows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::containerd) enum LineEnd {
    Newline,
    /// The line goes on in the next entry of this stream, or has not ended.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::containerd) struct Entry<'a> {
    pub(in crate::containerd) time: &'a str,
    pub(in crate::containerd) source: Source,
    pub(in crate::containerd) end: LineEnd,
    pub(in crate::containerd) text: &'a [u8],
}

/// What the log writer says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::containerd) enum Note {
    /// The first line of a file. Each is the next part of the log.
    Part(u64),
    /// So many bytes could not be written, and why.
    Missing { bytes: u64, reason: String },
}

impl<'a> Entry<'a> {
    /// `None` for what is no entry. Without the line break.
    pub(in crate::containerd) fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let time = std::str::from_utf8(parts.next()?).ok()?;
        let source = match parts.next()? {
            b"stdout" => Source::Stdout,
            b"stderr" => Source::Stderr,
            b"schedctl" => Source::Writer,
            _ => return None,
        };
        let end = match parts.next()? {
            b"F" => LineEnd::Newline,
            b"P" => LineEnd::Open,
            _ => return None,
        };
        let text = parts.next()?;
        // Readers have many lines: whoever uses the time parses it.
        let is_time = time.len() >= SHORTEST_TIME && time.ends_with('Z');
        is_time.then_some(Self {
            time,
            source,
            end,
            text,
        })
    }
}

/// A time as entries have it.
pub(in crate::containerd) fn time_text(time: Timestamp) -> String {
    format!("{time:.9}")
}

/// Appends an entry.
pub(in crate::containerd) fn write(
    to: &mut Vec<u8>,
    time: &str,
    source: Source,
    end: LineEnd,
    text: &[u8],
) {
    let source = match source {
        Source::Stdout => "stdout",
        Source::Stderr => "stderr",
        Source::Writer => "schedctl",
    };
    let end = match end {
        LineEnd::Newline => "F",
        LineEnd::Open => "P",
    };
    for part in [time, " ", source, " ", end, " "] {
        to.extend_from_slice(part.as_bytes());
    }
    to.extend_from_slice(text);
    to.push(b'\n');
}

impl Note {
    pub(in crate::containerd) fn write(&self, to: &mut Vec<u8>, time: Timestamp) {
        let text = match self {
            Self::Part(number) => format!("part {number}"),
            Self::Missing { bytes, reason } => {
                format!("missing {bytes} {}", reason.replace('\n', " "))
            }
        };
        let (time, text) = (time_text(time), text.as_bytes());
        write(to, &time, Source::Writer, LineEnd::Newline, text);
    }

    pub(in crate::containerd) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(number) = text.strip_prefix("part ") {
            return number.parse().ok().map(Self::Part);
        }
        let (bytes, reason) = text.strip_prefix("missing ")?.split_once(' ')?;
        Some(Self::Missing {
            bytes: bytes.parse().ok()?,
            reason: reason.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_entry_is_not_parsed() {
        for line in [
            "",
            "a line of a scheduler",
            "2026-01-31T08:00:00Z stdout F",
            "2026-01-31T08:00:00Z stdin F x",
            "2026-01-31T08:00:00Z stdout X x",
            "yesterday stdout F x",
        ] {
            assert_eq!(Entry::parse(line.as_bytes()), None, "{line}");
        }
        for text in ["", "part", "part x", "missing 1", "missing x y"] {
            assert_eq!(Note::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_entry_is_parsed_as_it_was_written(
            text in prop::collection::vec(any::<u8>().prop_filter("", |byte| *byte != b'\n'), 0..40),
            second in 0_i64..4_000_000_000,
            source in prop::sample::select(&[Source::Stdout, Source::Stderr, Source::Writer][..]),
            end in prop::sample::select(&[LineEnd::Newline, LineEnd::Open][..]),
        ) {
            let time = Timestamp::new(second, 7).unwrap();
            let mut line = Vec::new();
            write(&mut line, &time_text(time), source, end, &text);
            prop_assert_eq!(line.pop(), Some(b'\n'));
            let entry = Entry::parse(&line).unwrap();
            prop_assert_eq!((entry.source, entry.end, entry.text), (source, end, &text[..]));
            prop_assert_eq!(entry.time.parse::<Timestamp>().unwrap(), time);
            prop_assert_eq!(entry.time.len(), "2026-01-31T08:00:00.000000007Z".len());
        }

        #[test]
        fn any_bytes_are_parsed_without_a_panic(line in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = (Entry::parse(&line), Note::parse(&line));
        }

        #[test]
        fn a_note_is_parsed_as_it_was_written(bytes in any::<u64>(), reason in "[a-z ()0-9]{0,30}") {
            for note in [Note::Part(bytes), Note::Missing { bytes, reason }] {
                let mut line = Vec::new();
                note.write(&mut line, Timestamp::UNIX_EPOCH);
                let entry = Entry::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
                prop_assert_eq!(Note::parse(entry.text), Some(note));
            }
        }
    }
}
