//! What processes wrote, out of the stream in which both their outputs come: frames of
//! `[1 or 2, 0, 0, 0, length]` and so many bytes. Pure; nothing is kept but half a header, so a
//! frame of any length costs no memory.

use crate::driver::{Piece, Stream};

const HEADER: usize = 8;

/// Between two pieces of the stream.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: Vec<u8>,
    inside: Option<(Stream, usize)>,
}

/// Why it is no such stream.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FramesError {
    #[error("a frame of its output begins with {0:?}")]
    Header([u8; 4]),
    #[error("its output ends inside a frame")]
    Cut,
}

impl Frames {
    /// Takes what came and hands on what processes wrote.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<(), FramesError> {
        while !bytes.is_empty() {
            bytes = match self.inside {
                Some((stream, left)) => self.body(stream, left, bytes, take),
                None => self.head(bytes)?,
            };
        }
        Ok(())
    }

    /// That nothing more comes.
    pub(super) fn end(self) -> Result<(), FramesError> {
        if self.header.is_empty() && self.inside.is_none() {
            Ok(())
        } else {
            Err(FramesError::Cut)
        }
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], FramesError> {
        let lacking = HEADER - self.header.len();
        let (head, rest) = bytes.split_at(lacking.min(bytes.len()));
        self.header.extend_from_slice(head);
        if let &[stream, x, y, z, a, b, c, d] = self.header.as_slice() {
            let stream = match [stream, x, y, z] {
                [1, 0, 0, 0] => Stream::Out,
                [2, 0, 0, 0] => Stream::Err,
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
        stream: Stream,
        left: usize,
        bytes: &'a [u8],
        take: &mut dyn FnMut(Piece<'_>),
    ) -> &'a [u8] {
        let (body, rest) = bytes.split_at(left.min(bytes.len()));
        take(Piece {
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

    type Written = Vec<(Stream, Vec<u8>)>;

    /// What is handed on, pieces of the same stream put together.
    fn heard(pieces: &[&[u8]]) -> (Written, Result<(), FramesError>) {
        let mut written = Written::new();
        let mut frames = Frames::default();
        for piece in pieces {
            let pushed = frames.push(piece, &mut |piece| match written.last_mut() {
                Some((stream, bytes)) if *stream == piece.stream => bytes.extend(piece.bytes),
                _ => written.push((piece.stream, piece.bytes.to_vec())),
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
    fn what_podman_sent_is_both_streams() {
        for (recorded, pid) in [(RECORDED, 19136), (NEWER, 23956)] {
            let (written, end) = heard(&[recorded]);
            assert_eq!(end, Ok(()));
            let all = |wanted| {
                let of = written.iter().filter(move |(stream, _)| *stream == wanted);
                of.flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
            };
            assert_eq!(all(Stream::Out), b"[x y\nz]\n[7]\nno newline");
            assert_eq!(all(Stream::Err), format!("uid 0 pid {pid}\n").as_bytes());
        }
    }

    #[test]
    fn an_end_inside_a_frame_is_told() {
        for length in 1..RECORDED.len() {
            let whole = [13, 24, 36, 54].contains(&length);
            let (_, end) = heard(&[&RECORDED[..length]]);
            assert_eq!(end.is_ok(), whole, "{length}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (bytes, begin) in [
            (&b"HTTP/1.1"[..], *b"HTTP"),
            (&[0, 0, 0, 0, 0, 0, 0, 1], [0; 4]),
            (&[3, 0, 0, 0, 0, 0, 0, 1], [3, 0, 0, 0]),
            (&[1, 0, 0, 1, 0, 0, 0, 1], [1, 0, 0, 1]),
        ] {
            assert_eq!(heard(&[bytes]).1, Err(FramesError::Header(begin)));
        }
        // A frame of 4 GiB is one that has not ended yet.
        assert_eq!(
            heard(&[&[1, 0, 0, 0, 255, 255, 255, 255, 7]]).1,
            Err(FramesError::Cut)
        );
    }

    fn words() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..40)
    }

    proptest! {
        #[test]
        fn no_cut_between_pieces_changes_anything(
            lines in prop::collection::vec((1_u8..3, words()), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let bytes = lines.iter().flat_map(|(stream, bytes)| frame(*stream, bytes));
            let bytes = bytes.collect::<Vec<_>>();
            let mut at = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect::<Vec<_>>();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect::<Vec<_>>();
            let (cut, end) = heard(&pieces);
            prop_assert_eq!(end, Ok(()));
            let whole = heard(&[&bytes]).0;
            prop_assert_eq!(&cut, &whole);
            let said = whole.iter().flat_map(|(_, bytes)| bytes).copied().collect::<Vec<_>>();
            let meant = lines.iter().flat_map(|(_, bytes)| bytes).copied().collect::<Vec<_>>();
            prop_assert_eq!(said, meant);
        }

        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            let _ = heard(&[&bytes]);
        }
    }
}
