//! Blobs: streamed, counted and hashed on their way. What comes out whole is what was asked for;
//! anything else is an error, and the sink's content is then worthless.

use std::io::{self, SeekFrom};

use reqwest::Method;
use schedkit_core::{Digest, Repository};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::RegistryError;
use super::client::Client;
use super::content::Descriptor;
use super::reply::Reply;
use super::send::{Away, Question};
use crate::hash::Hasher;

/// Where a blob goes. Tries begin anew, so it must be able to forget.
#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait Sink {
    /// Forgets everything; called before the first piece of each try.
    async fn restart(&mut self) -> io::Result<()>;
    /// Keeps the next piece.
    async fn keep(&mut self, piece: &[u8]) -> io::Result<()>;
    /// After the last piece, when digest and length are right.
    async fn finish(&mut self) -> io::Result<()>;
}

/// How far a blob is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are here. Falls back to 0 when a try begins anew.
    pub received: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Sink for Vec<u8> {
    async fn restart(&mut self) -> io::Result<()> {
        self.clear();
        Ok(())
    }

    async fn keep(&mut self, piece: &[u8]) -> io::Result<()> {
        self.extend_from_slice(piece);
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

    async fn keep(&mut self, piece: &[u8]) -> io::Result<()> {
        self.write_all(piece).await
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.flush().await
    }
}

impl Client {
    /// Fetches a blob of at most `limit` bytes into a sink, hashed and compared, and tells of its
    /// progress.
    ///
    /// # Errors
    /// When it is not there, is not what its descriptor says, or cannot be had. What the sink
    /// holds is then worth nothing.
    pub async fn fetch(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        limit: u64,
        sink: &mut impl Sink,
        mut progress: impl FnMut(Progress),
    ) -> Result<(), RegistryError> {
        let what = format!("blob {} of {repository}", blob.digest);
        if blob.size > limit {
            let host = repository.host().to_string();
            return Err(RegistryError::TooBig { what, host, limit });
        }
        let patience = self.limits.for_blob(blob.size);
        self.everywhere(repository, &what, patience, async |endpoint| {
            let question = Question {
                endpoint,
                method: Method::GET,
                url: endpoint.blob(&blob.digest),
                accept: "*/*",
                what: &what,
                away: Away::Follow,
            };
            self.ask(&question, async |reply| {
                self.pour(reply, blob, sink, &mut progress).await
            })
            .await
        })
        .await
    }

    async fn pour(
        &self,
        mut reply: Reply,
        blob: &Descriptor,
        sink: &mut impl Sink,
        progress: &mut impl FnMut(Progress),
    ) -> Result<(), RegistryError> {
        let total = blob.size;
        if let Some(announced) = reply.announced().filter(|announced| *announced != total) {
            return Err(wrong_length(reply, total, announced));
        }
        let what = reply.what.clone();
        let unkept = |source| RegistryError::Sink {
            what: what.clone(),
            source,
        };
        let mut received = 0;
        let mut hasher = Hasher::new();
        sink.restart().await.map_err(unkept)?;
        progress(Progress { received, total });
        while let Some(piece) = reply.piece(&self.limits).await? {
            received += piece.len() as u64;
            if received > total {
                return Err(wrong_length(reply, total, received));
            }
            hasher.update(&piece);
            sink.keep(&piece).await.map_err(unkept)?;
            progress(Progress { received, total });
        }
        if received != total {
            return Err(wrong_length(reply, total, received));
        }
        check(hasher.finish(), blob, &reply)?;
        sink.finish().await.map_err(unkept)
    }
}

fn check(found: Digest, blob: &Descriptor, reply: &Reply) -> Result<(), RegistryError> {
    if found == blob.digest {
        return Ok(());
    }
    Err(RegistryError::WrongDigest {
        what: reply.what.clone(),
        host: reply.host.clone(),
        expected: blob.digest.clone(),
        found,
    })
}

fn wrong_length(reply: Reply, expected: u64, found: u64) -> RegistryError {
    let Reply { what, host, .. } = reply;
    RegistryError::WrongLength {
        what,
        host,
        expected,
        found,
    }
}
