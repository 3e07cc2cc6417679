//! A blob's way into the content store, piece by piece, never whole in memory. Called by `pull`;
//! for layers it is the registry client's sink.
//!
//! Every try writes under a name of its own: two pulls of one layer do not meet, and what a
//! killed one leaves behind is held by its lease only.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use schedkit_core::Digest;
use schedkit_image::registry::Sink;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::api::content::{AbortRequest, WriteAction, WriteContentRequest, WriteContentResponse};
use super::fault::{Fault, Kind};
use super::random;
use super::session::{ANSWER, Session};
use crate::driver::DriverError;

/// Bytes a message; containerd takes up to 16 MiB.
const PIECE: usize = 512 * 1024;
/// For the last word about a blob: containerd makes the disk keep it before it answers.
const COMMIT: Duration = Duration::from_secs(600);

/// A blob that is being written.
#[derive(Debug)]
pub(super) struct Upload<'a> {
    session: &'a Session,
    digest: &'a Digest,
    size: u64,
    labels: BTreeMap<String, String>,
    open: Option<Open>,
    waiting: BytesMut,
    failure: Option<DriverError>,
}

/// A stream of requests and answers about one blob.
#[derive(Debug)]
struct Open {
    name: String,
    requests: mpsc::Sender<WriteContentRequest>,
    answers: Streaming<WriteContentResponse>,
    written: u64,
}

/// What containerd has of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// All of it.
    Kept,
    /// Nothing.
    Wanted,
}

impl<'a> Upload<'a> {
    /// Begins. A blob that another namespace has is taken over without its bytes.
    pub(super) async fn begin(
        session: &'a Session,
        digest: &'a Digest,
        size: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<(Self, Standing), DriverError> {
        let mut upload = Self {
            session,
            digest,
            size,
            labels,
            open: None,
            waiting: BytesMut::new(),
            failure: None,
        };
        let begun = upload.reopen().await;
        let standing = match begun {
            Ok(offset) if offset == size && size > 0 => {
                upload.commit().await?;
                Standing::Kept
            }
            Ok(_) => Standing::Wanted,
            Err(fault) if fault.kind == Kind::Exists => Standing::Kept,
            Err(fault) => return Err(fault.error),
        };
        Ok((upload, standing))
    }

    /// Writes bytes that are all here.
    pub(super) async fn put(mut self, bytes: &Bytes) -> Result<(), DriverError> {
        for piece in bytes.chunks(PIECE) {
            self.write(Bytes::copy_from_slice(piece)).await?;
        }
        self.commit().await
    }

    /// Forgets what was written; gives the error that containerd had, where it had one.
    pub(super) async fn give_up(mut self) -> Option<DriverError> {
        self.abort().await;
        self.failure
    }

    /// Gives how much containerd has already.
    async fn reopen(&mut self) -> Result<u64, Fault> {
        self.abort().await;
        self.waiting.clear();
        let name = format!("schedkit-{}-{}", random::letters(), self.digest.hex());
        let (requests, receiver) = mpsc::channel(1);
        let first = WriteContentRequest {
            action: WriteAction::Stat.into(),
            ..self.request(&name)
        };
        // There is room for one before anybody reads.
        let _ = requests.try_send(first);
        let mut content = self.session.content();
        let stream = ReceiverStream::new(receiver);
        let answers = self.session.ask(content.write(stream)).await?;
        let mut open = Open {
            name,
            requests,
            answers,
            written: 0,
        };
        let answer = next(self.session, &mut open, ANSWER).await?;
        self.open = Some(open);
        Ok(u64::try_from(answer.offset).unwrap_or_default())
    }

    async fn write(&mut self, piece: Bytes) -> Result<(), DriverError> {
        let length = piece.len() as u64;
        let request = |upload: &Self, open: &Open| WriteContentRequest {
            action: WriteAction::Write.into(),
            offset: number(open.written),
            data: piece.into(),
            ..upload.request(&open.name)
        };
        self.exchange(request, ANSWER).await?;
        if let Some(open) = &mut self.open {
            open.written += length;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        let labels: HashMap<_, _> = self.labels.clone().into_iter().collect();
        let request = |upload: &Self, open: &Open| WriteContentRequest {
            action: WriteAction::Commit.into(),
            offset: number(upload.size),
            labels,
            ..upload.request(&open.name)
        };
        let committed = self.exchange(request, COMMIT).await;
        match committed {
            // Somebody else was quicker with the same bytes.
            Err(fault) if fault.kind == Kind::Exists => self.abort().await,
            committed => {
                committed?;
                self.open = None;
            }
        }
        Ok(())
    }

    async fn exchange(
        &mut self,
        request: impl FnOnce(&Self, &Open) -> WriteContentRequest,
        limit: Duration,
    ) -> Result<(), Fault> {
        let Some(mut open) = self.open.take() else {
            let error = Fault::empty(self.session.attempt());
            let kind = Kind::Other;
            return Err(Fault { kind, error });
        };
        let request = request(self, &open);
        // A receiver that is gone has left its reason among the answers.
        let _ = open.requests.send(request).await;
        let answer = next(self.session, &mut open, limit).await;
        self.open = Some(open);
        answer.map(drop)
    }

    fn request(&self, name: &str) -> WriteContentRequest {
        WriteContentRequest {
            r#ref: name.to_owned(),
            total: number(self.size),
            expected: self.digest.to_string(),
            ..WriteContentRequest::default()
        }
    }

    /// That nothing is there to be forgotten is fine, and so is a failure: the lease remains.
    async fn abort(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let request = AbortRequest { r#ref: open.name };
        drop((open.requests, open.answers));
        let mut content = self.session.content();
        let _ = self.session.ask(content.abort(request)).await;
    }

    fn fail<T>(&mut self, result: Result<T, DriverError>) -> io::Result<T> {
        result.map_err(|error| {
            let text = error.to_string();
            self.failure = Some(error);
            io::Error::other(text)
        })
    }
}

/// The registry client decides when a try begins and whether it was good.
impl Sink for Upload<'_> {
    async fn restart(&mut self) -> io::Result<()> {
        // The first try writes into what `begin` has opened.
        if self.open.as_ref().is_some_and(|open| open.written == 0) && self.waiting.is_empty() {
            return Ok(());
        }
        let opened = self.reopen().await;
        self.fail(opened.map(drop).map_err(DriverError::from))
    }

    async fn write_chunk(&mut self, piece: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(piece);
        while self.waiting.len() >= PIECE {
            let full = self.waiting.split_to(PIECE).freeze();
            let written = self.write(full).await;
            self.fail(written)?;
        }
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        let rest = self.waiting.split().freeze();
        let written = match rest.is_empty() {
            true => Ok(()),
            false => self.write(rest).await,
        };
        self.fail(written)?;
        let committed = self.commit().await;
        self.fail(committed)
    }
}

async fn next(
    session: &Session,
    open: &mut Open,
    limit: Duration,
) -> Result<WriteContentResponse, Fault> {
    let answer = timeout(limit, open.answers.message()).await;
    let answer = answer.map_err(|_| Fault::too_slow(session.attempt(), limit))?;
    let answer = answer.map_err(|status| Fault::new(&status, session.attempt()))?;
    answer.ok_or_else(|| Fault {
        kind: Kind::Other,
        error: Fault::empty(session.attempt()),
    })
}

/// Sizes beyond what containerd can count are refused by its own comparison.
fn number(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
