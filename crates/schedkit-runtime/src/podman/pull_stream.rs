//! What Podman says while it pulls: one JSON object a line. Pure.

use serde::Deserialize;

/// No line of Podman comes near it.
const LONGEST_LINE: usize = 1024 * 1024;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// What it does.
    Note(String),
    /// That it failed, and why.
    Failed(String),
    /// The image's id in the store: it is done.
    Done(String),
    /// Something that we have no use for.
    Other,
}

/// Lines out of pieces.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<u8>);

/// Why it is no such stream.
#[derive(Debug, thiserror::Error)]
pub(super) enum PullStreamError {
    #[error("a line about the pull has more than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("a line about the pull cannot be understood: {0}")]
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
    /// Takes a piece, hands on the lines that are whole now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Word>, PullStreamError> {
        self.0.extend_from_slice(bytes);
        let mut words = Vec::new();
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line = self.0.drain(..=end).collect::<Vec<_>>();
            words.extend(word(&line)?);
        }
        if self.0.len() > LONGEST_LINE {
            return Err(PullStreamError::TooLong);
        }
        Ok(words)
    }

    /// What is left when nothing more comes.
    pub(super) fn end(self) -> Result<Option<Word>, PullStreamError> {
        word(&self.0)
    }
}

fn word(line: &[u8]) -> Result<Option<Word>, PullStreamError> {
    let line = String::from_utf8_lossy(line);
    if line.trim().is_empty() {
        return Ok(None);
    }
    parse(&line).map(Some).map_err(PullStreamError::Json)
}

fn parse(line: &str) -> Result<Word, serde_json::Error> {
    let Line { stream, error, id } = serde_json::from_str(line)?;
    let full = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(match (full(error), full(id), full(stream)) {
        (Some(error), _, _) => Word::Failed(error),
        (None, Some(id), _) => Word::Done(id),
        (None, None, Some(note)) => Word::Note(note),
        (None, None, None) => Word::Other,
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

    fn words(pieces: &[&[u8]]) -> Result<Vec<Word>, PullStreamError> {
        let mut lines = Lines::default();
        let mut words = Vec::new();
        for piece in pieces {
            words.extend(lines.push(piece)?);
        }
        words.extend(lines.end()?);
        Ok(words)
    }

    #[test]
    fn a_pull_ends_with_an_id() {
        for text in FETCHED {
            let words = words(&[text.as_bytes()]).unwrap();
            let id = "aa106bbeadedf56f376f7fe7e40335ef805bf4db7394638207f6cd2bd127f2e4";
            assert_eq!(words.last(), Some(&Word::Done(id.to_owned())));
            assert!(matches!(&words[0], Word::Note(note) if note.starts_with("Trying to pull")));
        }
    }

    #[test]
    fn a_line_with_an_error_is_one() {
        for text in REFUSED {
            let words = words(&[text.as_bytes()]).unwrap();
            let Some(Word::Failed(why)) = words.last() else {
                panic!("{words:?}");
            };
            assert!(why.contains("manifest unknown"), "{why}");
        }
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let error = words(&[b"<html>\n"]).unwrap_err();
        let said = "a line about the pull cannot be understood: expected value at line 1 column 1";
        assert_eq!(error.to_string(), said);
        let endless = vec![b' '; LONGEST_LINE + 1];
        assert!(matches!(words(&[&endless]), Err(PullStreamError::TooLong)));
        assert_eq!(words(&[b"\n\n{}"]).unwrap(), [Word::Other]);
    }

    proptest! {
        #[test]
        fn no_cut_between_pieces_changes_anything(at in 0..FETCHED[0].len()) {
            let (first, second) = FETCHED[0].as_bytes().split_at(at);
            let whole = words(&[FETCHED[0].as_bytes()]).unwrap();
            prop_assert_eq!(words(&[first, second]).unwrap(), whole);
        }

        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            let _ = words(&[&bytes]);
        }
    }
}
