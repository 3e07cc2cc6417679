//! Writes a blob into the content store in chunks. Called by `pull`; for layers it is the sink of the
//! registry client.
//!
//! Every attempt writes under its own name, so that two pulls of one layer do not conflict, and what
//! a killed one wrote is kept only by its lease.

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
use super::call_error::{CallError, CallErrorKind};
use super::random;
use super::session::{CALL_TIMEOUT, Session};
use crate::driver::DriverError;

/// Bytes per message; containerd accepts up to 16 MiB.
const CHUNK: usize = 512 * 1024;
/// For a commit: containerd syncs the blob to the disk before it responds.
const COMMIT: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Upload<'a> {
    session: &'a Session,
    digest: &'a Digest,
    size: u64,
    labels: BTreeMap<String, String>,
    open: Option<WriteStream>,
    buffer: BytesMut,
    failure: Option<DriverError>,
}

/// A stream of requests and responses about one blob.
#[derive(Debug)]
struct WriteStream {
    name: String,
    requests: mpsc::Sender<WriteContentRequest>,
    responses: Streaming<WriteContentResponse>,
    written: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobState {
    Present,
    Missing,
}

impl<'a> Upload<'a> {
    /// A blob that another namespace has is shared without uploading it.
    pub(super) async fn begin(
        session: &'a Session,
        digest: &'a Digest,
        size: u64,
        labels: BTreeMap<String, String>,
    ) -> Result<(Self, BlobState), DriverError> {
        let mut upload = Self {
            session,
            digest,
            size,
            labels,
            open: None,
            buffer: BytesMut::new(),
            failure: None,
        };
        let begun = upload.reopen().await;
        let state = match begun {
            Ok(offset) if offset == size && size > 0 => {
                upload.commit().await?;
                BlobState::Present
            }
            Ok(_) => BlobState::Missing,
            Err(error) if error.kind == CallErrorKind::AlreadyExists => BlobState::Present,
            Err(error) => return Err(error.driver_error),
        };
        Ok((upload, state))
    }

    /// Writes a whole document.
    pub(super) async fn put(mut self, bytes: &Bytes) -> Result<(), DriverError> {
        for chunk in bytes.chunks(CHUNK) {
            self.write(Bytes::copy_from_slice(chunk)).await?;
        }
        self.commit().await
    }

    /// Aborts, and returns the error of containerd if there was one.
    pub(super) async fn discard(mut self) -> Option<DriverError> {
        self.abort().await;
        self.failure
    }

    /// Opens a new stream and returns how many bytes containerd already has.
    async fn reopen(&mut self) -> Result<u64, CallError> {
        self.abort().await;
        self.buffer.clear();
        let name = format!("schedkit-{}-{}", random::hex_suffix(), self.digest.hex());
        let (requests, receiver) = mpsc::channel(1);
        let first = WriteContentRequest {
            action: WriteAction::Stat.into(),
            ..self.request(&name)
        };
        // The channel has room for one message.
        let _ = requests.try_send(first);
        let mut content = self.session.content();
        let stream = ReceiverStream::new(receiver);
        let responses = self.session.call(content.write(stream)).await?;
        let mut open = WriteStream {
            name,
            requests,
            responses,
            written: 0,
        };
        let response = next(self.session, &mut open, CALL_TIMEOUT).await?;
        self.open = Some(open);
        Ok(u64::try_from(response.offset).unwrap_or_default())
    }

    async fn write(&mut self, chunk: Bytes) -> Result<(), DriverError> {
        let length = chunk.len() as u64;
        let request = |upload: &Self, open: &WriteStream| WriteContentRequest {
            action: WriteAction::Write.into(),
            offset: number(open.written),
            data: chunk.into(),
            ..upload.request(&open.name)
        };
        self.exchange(request, CALL_TIMEOUT).await?;
        if let Some(open) = &mut self.open {
            open.written += length;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        let labels: HashMap<_, _> = self.labels.clone().into_iter().collect();
        let request = |upload: &Self, open: &WriteStream| WriteContentRequest {
            action: WriteAction::Commit.into(),
            offset: number(upload.size),
            labels,
            ..upload.request(&open.name)
        };
        let committed = self.exchange(request, COMMIT).await;
        match committed {
            // Another client has committed the same blob.
            Err(error) if error.kind == CallErrorKind::AlreadyExists => self.abort().await,
            committed => {
                committed?;
                self.open = None;
            }
        }
        Ok(())
    }

    async fn exchange(
        &mut self,
        request: impl FnOnce(&Self, &WriteStream) -> WriteContentRequest,
        limit: Duration,
    ) -> Result<(), CallError> {
        let Some(mut open) = self.open.take() else {
            return Err(CallError {
                kind: CallErrorKind::Other,
                driver_error: CallError::empty(self.session.attempt()),
            });
        };
        let request = request(self, &open);
        // If the stream was closed, the next response has the reason.
        let _ = open.requests.send(request).await;
        let response = next(self.session, &mut open, limit).await;
        self.open = Some(open);
        response.map(drop)
    }

    fn request(&self, name: &str) -> WriteContentRequest {
        WriteContentRequest {
            r#ref: name.to_owned(),
            total: number(self.size),
            expected: self.digest.to_string(),
            ..WriteContentRequest::default()
        }
    }

    /// A failure is ignored: what was written is collected when the lease expires.
    async fn abort(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let request = AbortRequest { r#ref: open.name };
        drop((open.requests, open.responses));
        let mut content = self.session.content();
        let _ = self.session.call(content.abort(request)).await;
    }

    fn fail<T>(&mut self, result: Result<T, DriverError>) -> io::Result<T> {
        result.map_err(|error| {
            let text = error.to_string();
            self.failure = Some(error);
            io::Error::other(text)
        })
    }
}

/// The registry client decides when an attempt begins and whether it succeeded.
impl Sink for Upload<'_> {
    async fn restart(&mut self) -> io::Result<()> {
        // The first attempt uses the stream that `begin` has opened.
        if self.open.as_ref().is_some_and(|open| open.written == 0) && self.buffer.is_empty() {
            return Ok(());
        }
        let opened = self.reopen().await;
        self.fail(opened.map(drop).map_err(DriverError::from))
    }

    async fn write_chunk(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(chunk);
        while self.buffer.len() >= CHUNK {
            let full = self.buffer.split_to(CHUNK).freeze();
            let written = self.write(full).await;
            self.fail(written)?;
        }
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        let rest = self.buffer.split().freeze();
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
    open: &mut WriteStream,
    limit: Duration,
) -> Result<WriteContentResponse, CallError> {
    let response = timeout(limit, open.responses.message()).await;
    let response = response.map_err(|_| CallError::timeout(session.attempt(), limit))?;
    let response = response.map_err(|status| CallError::new(&status, session.attempt()))?;
    response.ok_or_else(|| CallError {
        kind: CallErrorKind::Other,
        driver_error: CallError::empty(session.attempt()),
    })
}

/// containerd refuses a size that does not fit.
fn number(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
