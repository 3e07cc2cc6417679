//! What a container's process wrote, and how it ended.

use std::fs;
use std::path::Path;

use hyper::Method;
use jiff::Timestamp;
use schedkit_core::foreign::brief;

use super::Podman;
use super::frames::{Frames, FramesError};
use super::inspected::{self, Inspected};
use super::reply;
use super::target::Target;
use super::wire::{Ask, Patience};
use crate::container::{ContainerId, ExitCode, State};
use crate::driver::{DriverError, Piece, Stream, Until};

impl Podman {
    /// Hands on what was written since the latest start. Podman's log goes on over restarts.
    pub(super) async fn hear(
        &self,
        id: &ContainerId,
        until: Until,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let since = self.inspect(id).await?.pid_file;
        let since = since.as_deref().and_then(made);
        if until == Until::Now {
            self.read(id, since, until, take).await?;
            return Ok(None);
        }
        let mut heard = Heard::default();
        let mut count = |piece: Piece<'_>| {
            heard.add(piece);
            take(piece);
        };
        self.read(id, since, until, &mut count).await?;
        let exit = self.exit(id).await?;
        // Podman lets go of a log that is followed when the process ends, and not when its last
        // words are read. They are what everybody waits for.
        let mut rest = |piece: Piece<'_>| heard.skip(piece).into_iter().for_each(&mut *take);
        self.read(id, since, Until::Now, &mut rest).await?;
        Ok(exit)
    }

    /// Reads the log once.
    async fn read(
        &self,
        id: &ContainerId,
        since: Option<Timestamp>,
        until: Until,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<(), DriverError> {
        let target = Target::new(&["containers", id.as_str(), "logs"]);
        let mut target = target.with("stdout", "true").with("stderr", "true");
        if let Some(since) = since {
            target = target.with("since", &since.to_string());
        }
        // Podman answers to a question for future words with the first of them.
        let patience = match until {
            Until::Now => Patience::Usual,
            Until::Exit => {
                target = target.with("follow", "true");
                Patience::Endless
            }
        };
        let attempt = format!("show the output of {}", id.short());
        let ask = Ask::new(attempt, Method::GET, target);
        let mut stream = self.wire.stream(ask.about(id).patience(patience)).await?;
        let odd = |error: FramesError, attempt: &str| reply::refused(attempt, error.to_string());
        let mut frames = Frames::default();
        while let Some(piece) = stream.next().await? {
            let pushed = frames.push(&piece, take);
            pushed.map_err(|error| odd(error, stream.attempt()))?;
        }
        frames.end().map_err(|error| odd(error, stream.attempt()))
    }

    /// What it does now.
    pub(super) async fn inspect(&self, id: &ContainerId) -> Result<Inspected, DriverError> {
        let target = Target::new(&["containers", id.as_str(), "json"]);
        let ask = Ask::new(format!("look at {}", id.short()), Method::GET, target);
        let answer = self.wire.whole(ask.about(id)).await?.accepted()?;
        answer.read(inspected::parse)
    }

    /// How it ended; nothing when it never ran.
    async fn exit(&self, id: &ContainerId) -> Result<Option<ExitCode>, DriverError> {
        match self.inspect(id).await?.state {
            State::Exited(code) => return Ok(Some(code)),
            State::Created => return Ok(None),
            State::Running { .. } | State::Other(_) => {}
        }
        // Its output has ended and Podman has not noticed yet that so has the process.
        let target = Target::new(&["containers", id.as_str(), "wait"])
            .with("condition", "stopped")
            .with("condition", "exited");
        let attempt = format!("tell how {} ended", id.short());
        let ask = Ask::new(attempt, Method::POST, target).about(id);
        let answer = self.wire.whole(ask.patience(Patience::Endless)).await?;
        let answer = answer.accepted()?;
        let text = String::from_utf8_lossy(&answer.body);
        let code = text.trim().parse::<i32>();
        let code = code.map_err(|_| reply::refused(&answer.attempt, brief(&text)))?;
        Ok(Some(ExitCode(code)))
    }
}

/// How many bytes of each stream were handed on.
#[derive(Debug, Default)]
struct Heard {
    out: usize,
    err: usize,
}

impl Heard {
    fn of(&mut self, stream: Stream) -> &mut usize {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    fn add(&mut self, piece: Piece<'_>) {
        *self.of(piece.stream) += piece.bytes.len();
    }

    /// What of a piece is new, when all is told again from the beginning.
    fn skip<'a>(&mut self, piece: Piece<'a>) -> Option<Piece<'a>> {
        let known = self.of(piece.stream);
        let (old, new) = piece.bytes.split_at(piece.bytes.len().min(*known));
        *known -= old.len();
        let stream = piece.stream;
        (!new.is_empty()).then_some(Piece { stream, bytes: new })
    }
}

/// When the process of the latest start was made. The file may be gone, after a reboot; the
/// whole log is then still the truth.
fn made(pid_file: &Path) -> Option<Timestamp> {
    let written = fs::metadata(pid_file).ok()?.modified().ok()?;
    Timestamp::try_from(written).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_is_not_told_again() {
        let piece = |stream, bytes| Piece { stream, bytes };
        let mut heard = Heard::default();
        heard.add(piece(Stream::Out, b"abc"));
        heard.add(piece(Stream::Err, b"x"));
        let again = [
            piece(Stream::Out, b"ab"),
            piece(Stream::Err, b"x"),
            piece(Stream::Out, b"cd"),
            piece(Stream::Err, b"y"),
        ];
        let new = again.into_iter().filter_map(|piece| heard.skip(piece));
        let expected = [piece(Stream::Out, b"d"), piece(Stream::Err, b"y")];
        assert_eq!(new.collect::<Vec<_>>(), expected);
    }
}
