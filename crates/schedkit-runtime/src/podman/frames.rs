//! Splits Podman's log stream, in which standard output and standard error are multiplexed: frames of
//! `[1 or 2, 0, 0, 0, length]` and so many bytes. Pure; only an incomplete header is buffered.

use crate::driver::{OutputChunk, OutputStream};

const HEADER: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Frames {
    header: Vec<u8>,
    inside: Option<(OutputStream, usize)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FramesError {
    #[error("a frame of its output begins with {0:?}")]
    Header([u8; 4]),
    #[error("its output ends inside a frame")]
    Truncated,
}

impl Frames {
    /// Parses the next bytes and passes on the output in them.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<(), FramesError> {
        while !bytes.is_empty() {
            bytes = match self.inside {
                Some((stream, left)) => self.body(stream, left, bytes, on_output),
                None => self.head(bytes)?,
            };
        }
        Ok(())
    }

    /// The end of the stream: an error inside of a frame.
    pub(super) fn end(self) -> Result<(), FramesError> {
        if self.header.is_empty() && self.inside.is_none() {
            Ok(())
        } else {
            Err(FramesError::Truncated)
        }
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], FramesError> {
        let missing = HEADER - self.header.len();
        let (head, rest) = bytes.split_at(missing.min(bytes.len()));
        self.header.extend_from_slice(head);
        if let &[stream, x, y, z, a, b, c, d] = self.header.as_slice() {
            let stream = match [stream, x, y, z] {
                [1, 0, 0, 0] => OutputStream::Stdout,
                [2, 0, 0, 0] => OutputStream::Stderr,
                other => return Err(FramesError::Header(other)),
            };
            self.header.clear();
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            self.inside = (length > 0).then_some((stream, length));
        }
        Ok(rest)
    }

    fn body<'a>(
        &mut self,
        stream: OutputStream,
        left: usize,
        bytes: &'a [u8],
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> &'a [u8] {
        let (body, rest) = bytes.split_at(left.min(bytes.len()));
        on_output(OutputChunk {
            stream,
            bytes: body,
        });
        let left = left - body.len();
        self.inside = (left > 0).then_some((stream, left));
        rest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORDED: &[u8] = include_bytes!("../../tests/fixtures/podman-4.3/logs.bin");
    const NEWER: &[u8] = include_bytes!("../../tests/fixtures/podman-5.4/logs.bin");

    type Written = Vec<(OutputStream, Vec<u8>)>;

    /// The output, with adjacent chunks of the same stream joined.
    fn parsed(chunks: &[&[u8]]) -> (Written, Result<(), FramesError>) {
        let mut written = Written::new();
        let mut frames = Frames::default();
        for chunk in chunks {
            let pushed = frames.push(chunk, &mut |chunk| match written.last_mut() {
                Some((stream, bytes)) if *stream == chunk.stream => bytes.extend(chunk.bytes),
                _ => written.push((chunk.stream, chunk.bytes.to_vec())),
            });
            if pushed.is_err() {
                return (written, pushed);
            }
        }
        (written, frames.end())
    }

    fn frame(stream: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![stream, 0, 0, 0];
        frame.extend((bytes.len() as u32).to_be_bytes());
        frame.extend(bytes);
        frame
    }

    #[test]
    fn a_recorded_log_has_both_streams() {
        for (recorded, pid) in [(RECORDED, 19136), (NEWER, 23956)] {
            let (written, end) = parsed(&[recorded]);
            assert_eq!(end, Ok(()));
            let all = |wanted| {
                let of = written.iter().filter(move |(stream, _)| *stream == wanted);
                of.flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
            };
            assert_eq!(all(OutputStream::Stdout), b"[x y\nz]\n[7]\nno newline");
            assert_eq!(
                all(OutputStream::Stderr),
                format!("uid 0 pid {pid}\n").as_bytes()
            );
        }
    }

    #[test]
    fn an_end_inside_a_frame_is_an_error() {
        for length in 1..RECORDED.len() {
            let whole = [13, 24, 36, 54].contains(&length);
            let (_, end) = parsed(&[&RECORDED[..length]]);
            assert_eq!(end.is_ok(), whole, "{length}");
        }
    }

    #[test]
    fn an_invalid_header_is_an_error() {
        for (bytes, begin) in [
            (&b"HTTP/1.1"[..], *b"HTTP"),
            (&[0, 0, 0, 0, 0, 0, 0, 1], [0; 4]),
            (&[3, 0, 0, 0, 0, 0, 0, 1], [3, 0, 0, 0]),
            (&[1, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 1]),
        ] {
            assert_eq!(parsed(&[bytes]).1, Err(FramesError::Header(begin)));
        }
        // A frame of 4 GiB that has not ended.
        assert_eq!(
            parsed(&[&[1, 0, 0, 0, 255, 255, 255, 255, 7]]).1,
            Err(FramesError::Truncated)
        );
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..40)
    }

    proptest! {
        #[test]
        fn the_position_of_splits_changes_nothing(
            lines in prop::collection::vec((1_u8..3, bytes()), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let bytes = lines.iter().flat_map(|(stream, bytes)| frame(*stream, bytes));
            let bytes = bytes.collect::<Vec<_>>();
            let mut at = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect::<Vec<_>>();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let chunks = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect::<Vec<_>>();
            let (cut, end) = parsed(&chunks);
            prop_assert_eq!(end, Ok(()));
            let whole = parsed(&[&bytes]).0;
            prop_assert_eq!(&cut, &whole);
            let found = whole.iter().flat_map(|(_, bytes)| bytes).copied().collect::<Vec<_>>();
            let expected = lines.iter().flat_map(|(_, bytes)| bytes).copied().collect::<Vec<_>>();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = parsed(&[&bytes]);
        }
    }
}
