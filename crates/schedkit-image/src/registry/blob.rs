//! Blobs: streamed, counted and hashed. A blob that does not match its descriptor is an error, and
//! the content of its sink is then unusable.

use std::io::{self, SeekFrom};

use reqwest::Method;
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::content::Descriptor;
use super::endpoint::Endpoint;
use super::error::RegistryError;
use super::http::RedirectPolicy;
use super::limits::Limits;
use super::problem::Problem;
use super::request::{RegistryRequest, Requester};
use super::response::SuccessResponse;
use crate::hash::Hasher;

/// Where a blob is written. Each attempt starts from the first byte, so it can be reset.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Sink {
    /// Discards everything; called before the first chunk of each attempt.
    async fn restart(&mut self) -> io::Result<()>;
    async fn write_chunk(&mut self, chunk: &[u8]) -> io::Result<()>;
    /// Called after the last chunk, when digest and length are right.
    async fn finish(&mut self) -> io::Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Returns to 0 when a new attempt starts.
    pub received: u64,
    pub total: u64,
}

impl Sink for Vec<u8> {
    async fn restart(&mut self) -> io::Result<()> {
        self.clear();
        Ok(())
    }

    async fn write_chunk(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.extend_from_slice(chunk);
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for File {
    async fn restart(&mut self) -> io::Result<()> {
        self.set_len(0).await?;
        self.seek(SeekFrom::Start(0)).await?;
        Ok(())
    }

    async fn write_chunk(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.write_all(chunk).await
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.flush().await
    }
}

/// Fetches a blob from one host.
pub(super) async fn fetch(
    requester: &Requester,
    endpoint: &Endpoint,
    blob: &Descriptor,
    sink: &mut impl Sink,
    progress: &mut impl FnMut(Progress),
    what: &str,
) -> Result<(), RegistryError> {
    let request = RegistryRequest {
        endpoint,
        method: Method::GET,
        url: endpoint.blob(&blob.digest),
        accept: "*/*",
        what,
        redirects: RedirectPolicy::AnyHost,
    };
    requester
        .send(&request, async |response| {
            copy(response, blob, sink, progress, requester.limits()).await
        })
        .await
}

async fn copy(
    mut response: SuccessResponse,
    blob: &Descriptor,
    sink: &mut impl Sink,
    progress: &mut impl FnMut(Progress),
    limits: &Limits,
) -> Result<(), RegistryError> {
    let total = blob.size;
    let wrong_length = |found| Problem::WrongLength {
        expected: total,
        found,
    };
    if let Some(length) = response.content_length().filter(|length| *length != total) {
        return Err(response.error(wrong_length(length)));
    }
    let mut received = 0;
    let mut hasher = Hasher::new();
    let restarted = sink.restart().await;
    restarted.map_err(|error| response.error(Problem::Sink(error)))?;
    progress(Progress { received, total });
    while let Some(chunk) = response.chunk(limits).await? {
        received += chunk.len() as u64;
        if received > total {
            return Err(response.error(wrong_length(received)));
        }
        hasher.update(&chunk);
        let written = sink.write_chunk(&chunk).await;
        written.map_err(|error| response.error(Problem::Sink(error)))?;
        progress(Progress { received, total });
    }
    if received != total {
        return Err(response.error(wrong_length(received)));
    }
    let found = hasher.finish();
    if found != blob.digest {
        let expected = blob.digest.clone();
        return Err(response.error(Problem::WrongDigest { expected, found }));
    }
    let finished = sink.finish().await;
    finished.map_err(|error| response.error(Problem::Sink(error)))
}
