//! Parses the messages that Podman sends during a pull: one JSON object per line. Pure.

use serde::Deserialize;

/// Far more than a line of Podman has.
const MAX_LINE: usize = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PullEvent {
    /// A message about the progress.
    Note(String),
    Failed(String),
    /// The pull is done; the image's id in the store.
    Done(String),
    Other,
}

/// Joins parts of the body to lines.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

#[derive(Debug, thiserror::Error)]
pub(super) enum PullStreamError {
    #[error("a line about the pull has more than {MAX_LINE} bytes")]
    TooLong,
    #[error("a line about the pull cannot be parsed: {0}")]
    Json(serde_json::Error),
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    stream: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    id: Option<String>,
}

impl Lines {
    /// Adds bytes and returns the events of the lines that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<PullEvent>, PullStreamError> {
        self.0.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line = self.0.drain(..=end).collect::<Vec<_>>();
            events.extend(parse_line(&line)?);
        }
        if self.0.len() > MAX_LINE {
            return Err(PullStreamError::TooLong);
        }
        Ok(events)
    }

    /// The event of a last line without a line break.
    pub(super) fn end(self) -> Result<Option<PullEvent>, PullStreamError> {
        parse_line(&self.0)
    }
}

fn parse_line(line: &[u8]) -> Result<Option<PullEvent>, PullStreamError> {
    let line = String::from_utf8_lossy(line);
    if line.trim().is_empty() {
        return Ok(None);
    }
    parse(&line).map(Some).map_err(PullStreamError::Json)
}

fn parse(line: &str) -> Result<PullEvent, serde_json::Error> {
    let Line { stream, error, id } = serde_json::from_str(line)?;
    let full = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(match (full(error), full(id), full(stream)) {
        (Some(error), _, _) => PullEvent::Failed(error),
        (None, Some(id), _) => PullEvent::Done(id),
        (None, None, Some(note)) => PullEvent::Note(note),
        (None, None, None) => PullEvent::Other,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FETCHED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/pull.jsonl"),
        include_str!("../../tests/fixtures/podman-5.4/pull.jsonl"),
    ];
    const REFUSED: [&str; 2] = [
        include_str!("../../tests/fixtures/podman-4.3/pull-refused.jsonl"),
        include_str!("../../tests/fixtures/podman-5.4/pull-refused.jsonl"),
    ];

    fn events(parts: &[&[u8]]) -> Result<Vec<PullEvent>, PullStreamError> {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for part in parts {
            events.extend(lines.push(part)?);
        }
        events.extend(lines.end()?);
        Ok(events)
    }

    #[test]
    fn a_pull_ends_with_an_id() {
        for text in FETCHED {
            let events = events(&[text.as_bytes()]).unwrap();
            let id = "aa106bbeadedf56f376f7fe7e40335ef805bf4db7394638207f6cd2bd127f2e4";
            assert_eq!(events.last(), Some(&PullEvent::Done(id.to_owned())));
            assert!(
                matches!(&events[0], PullEvent::Note(note) if note.starts_with("Trying to pull"))
            );
        }
    }

    #[test]
    fn a_line_with_an_error_is_a_failure() {
        for text in REFUSED {
            let events = events(&[text.as_bytes()]).unwrap();
            let Some(PullEvent::Failed(error)) = events.last() else {
                panic!("{events:?}");
            };
            assert!(error.contains("manifest unknown"), "{error}");
        }
    }

    #[test]
    fn an_invalid_line_is_refused() {
        let error = events(&[b"<html>\n"]).unwrap_err();
        let message = "a line about the pull cannot be parsed: expected value at line 1 column 1";
        assert_eq!(error.to_string(), message);
        let endless = vec![b' '; MAX_LINE + 1];
        assert!(matches!(events(&[&endless]), Err(PullStreamError::TooLong)));
        assert_eq!(events(&[b"\n\n{}"]).unwrap(), [PullEvent::Other]);
    }

    proptest! {
        #[test]
        fn the_position_of_splits_changes_nothing(at in 0..FETCHED[0].len()) {
            let (first, second) = FETCHED[0].as_bytes().split_at(at);
            let whole = events(&[FETCHED[0].as_bytes()]).unwrap();
            prop_assert_eq!(events(&[first, second]).unwrap(), whole);
        }

        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = events(&[&bytes]);
        }
    }
}
