//! Pushes images to a registry over plain HTTP, as far as the lab's own registries need it.

use super::image::{Blob, INDEX, Image, Index, MANIFEST};

/// A registry without TLS and credentials.
#[derive(Clone, Debug)]
pub struct Registry {
    pub(super) address: String,
    pub(super) agent: ureq::Agent,
}

#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("the registry answered {method} {url} with status {status}")]
    Refused {
        method: &'static str,
        url: String,
        status: u16,
    },
    #[error("the registry started an upload without a Location header")]
    NoLocation,
    #[error("cannot reach the registry at {url}")]
    Unreachable {
        url: String,
        source: Box<ureq::Error>,
    },
}

impl Registry {
    /// The registry at `host:port`.
    pub fn new(address: impl Into<String>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // The lab's addresses are not reachable through a proxy.
            .proxy(None)
            .build()
            .into();
        Self {
            address: address.into(),
            agent,
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn is_up(&self) -> bool {
        self.agent
            .get(self.url(""))
            .call()
            .is_ok_and(|response| response.status() == 200)
    }

    /// Pushes an image under a tag.
    pub fn push_image(&self, repository: &str, tag: &str, image: &Image) -> Result<(), PushError> {
        for blob in &image.blobs {
            self.push_blob(repository, blob)?;
        }
        self.push_manifest(repository, tag, MANIFEST, &image.manifest)
    }

    /// Pushes an index under a tag, its images by digest only.
    pub fn push_index(&self, repository: &str, tag: &str, index: &Index) -> Result<(), PushError> {
        for image in &index.images {
            self.push_image(repository, &image.manifest.digest, image)?;
        }
        self.push_manifest(repository, tag, INDEX, &index.manifest)
    }

    /// Pushes a blob unless the registry has it.
    pub fn push_blob(&self, repository: &str, blob: &Blob) -> Result<(), PushError> {
        let known = self.url(&format!("{repository}/blobs/{}", blob.digest));
        let response = self
            .agent
            .head(&known)
            .call()
            .map_err(|error| unreachable(&known, error))?;
        if response.status() == 200 {
            return Ok(());
        }
        let begin = self.url(&format!("{repository}/blobs/uploads/"));
        let response = self
            .agent
            .post(&begin)
            .send_empty()
            .map_err(|error| unreachable(&begin, error))?;
        let location = response
            .headers()
            .get("location")
            .and_then(|value| value.to_str().ok())
            .ok_or(PushError::NoLocation)?;
        let separator = if location.contains('?') { '&' } else { '?' };
        let url = if location.starts_with('/') {
            format!("http://{}{location}", self.address)
        } else {
            location.to_owned()
        };
        self.put(
            &format!("{url}{separator}digest={}", blob.digest),
            "application/octet-stream",
            &blob.bytes,
        )
    }

    /// Pushes a manifest of any media type, by tag or digest; its blobs must have been pushed.
    pub fn push_manifest(
        &self,
        repository: &str,
        reference: &str,
        media_type: &str,
        manifest: &Blob,
    ) -> Result<(), PushError> {
        self.put(
            &self.url(&format!("{repository}/manifests/{reference}")),
            media_type,
            &manifest.bytes,
        )
    }

    fn put(&self, url: &str, media_type: &str, bytes: &[u8]) -> Result<(), PushError> {
        let response = self
            .agent
            .put(url)
            .content_type(media_type)
            .send(bytes)
            .map_err(|error| unreachable(url, error))?;
        match response.status().as_u16() {
            201 => Ok(()),
            status => Err(PushError::Refused {
                method: "PUT",
                url: url.to_owned(),
                status,
            }),
        }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}/v2/{path}", self.address)
    }
}

pub(super) fn unreachable(url: &str, error: ureq::Error) -> PushError {
    PushError::Unreachable {
        url: url.to_owned(),
        source: Box::new(error),
    }
}
