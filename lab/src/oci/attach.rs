//! Attaches signatures and bundles to images in a registry, as cosign 2 and 3 do, and reads them
//! back.

use serde_json::{Value, json};

use super::artifact::{Artifact, BUNDLE, SignatureLayer, Subject};
use super::image::{Blob, INDEX, MANIFEST};
use super::push::{PushError, Registry, unreachable};

/// A manifest as a registry gave it.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The media type that the registry reports.
    pub media_type: String,
    /// The bytes and their digest, computed here.
    pub manifest: Blob,
}

impl From<&Fetched> for Subject {
    fn from(fetched: &Fetched) -> Self {
        Self::new(&fetched.media_type, &fetched.manifest)
    }
}

impl Registry {
    /// Fetches a manifest by tag or digest, if the registry has it.
    pub fn manifest(
        &self,
        repository: &str,
        reference: &str,
    ) -> Result<Option<Fetched>, PushError> {
        let url = self.url(&format!("{repository}/manifests/{reference}"));
        let response = self
            .agent
            .get(&url)
            .header("accept", format!("{MANIFEST}, {INDEX}"))
            .call()
            .map_err(|error| unreachable(&url, error))?;
        match response.status().as_u16() {
            200 => {
                let media_type = response
                    .headers()
                    .get("content-type")
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or_default()
                    .to_owned();
                let bytes = response
                    .into_body()
                    .read_to_vec()
                    .map_err(|error| unreachable(&url, error))?;
                Ok(Some(Fetched {
                    media_type,
                    manifest: Blob::new(bytes),
                }))
            }
            404 => Ok(None),
            status => Err(PushError::Refused {
                method: "GET",
                url,
                status,
            }),
        }
    }

    /// The tags of a repository, in no order; none of one that does not exist.
    pub fn tags(&self, repository: &str) -> Result<Vec<String>, PushError> {
        let url = self.url(&format!("{repository}/tags/list"));
        let response = self
            .agent
            .get(&url)
            .call()
            .map_err(|error| unreachable(&url, error))?;
        match response.status().as_u16() {
            200 => {}
            404 => return Ok(Vec::new()),
            status => {
                return Err(PushError::Refused {
                    method: "GET",
                    url,
                    status,
                });
            }
        }
        let bytes = response
            .into_body()
            .read_to_vec()
            .map_err(|error| unreachable(&url, error))?;
        let list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let tags = list["tags"].as_array().into_iter().flatten();
        Ok(tags.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Deletes a manifest by digest or, where the registry allows it, by tag.
    pub fn delete_manifest(&self, repository: &str, reference: &str) -> Result<(), PushError> {
        let url = self.url(&format!("{repository}/manifests/{reference}"));
        let response = self
            .agent
            .delete(&url)
            .call()
            .map_err(|error| unreachable(&url, error))?;
        match response.status().as_u16() {
            202 => Ok(()),
            status => Err(PushError::Refused {
                method: "DELETE",
                url,
                status,
            }),
        }
    }

    /// Pushes an artifact and its blobs, by tag or by its own digest.
    pub fn push_artifact(
        &self,
        repository: &str,
        reference: &str,
        artifact: &Artifact,
    ) -> Result<(), PushError> {
        for blob in &artifact.blobs {
            self.push_blob(repository, blob)?;
        }
        self.push_manifest(repository, reference, MANIFEST, &artifact.manifest)
    }

    pub fn has_referrers(&self, repository: &str, subject: &Subject) -> Result<bool, PushError> {
        let url = self.url(&format!("{repository}/referrers/{}", subject.digest));
        let response = self
            .agent
            .get(&url)
            .call()
            .map_err(|error| unreachable(&url, error))?;
        Ok(response.status() == 200)
    }

    /// Attaches a bundle as cosign 3 does: by the referrers API, or else under the fallback tag.
    pub fn attach_bundle(
        &self,
        repository: &str,
        subject: &Subject,
        bundle: &str,
    ) -> Result<Artifact, PushError> {
        let artifact = Artifact::bundle(subject, bundle);
        self.push_artifact(repository, &artifact.manifest.digest, &artifact)?;
        if !self.has_referrers(repository, subject)? {
            self.list_by_tag(repository, subject, &artifact)?;
        }
        Ok(artifact)
    }

    /// Lists an artifact under the fallback tag, even if the registry has the referrers API.
    pub fn list_by_tag(
        &self,
        repository: &str,
        subject: &Subject,
        artifact: &Artifact,
    ) -> Result<(), PushError> {
        let tag = subject.fallback_tag();
        let mut index = self
            .manifest(repository, &tag)?
            .and_then(|found| serde_json::from_slice::<Value>(&found.manifest.bytes).ok())
            .unwrap_or_else(|| json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}));
        let mut descriptor = artifact.manifest.descriptor(MANIFEST);
        descriptor["artifactType"] = json!(BUNDLE);
        if let Some(list) = index["manifests"].as_array_mut() {
            list.push(descriptor);
        }
        let index = Blob::new(index.to_string().into_bytes());
        self.push_manifest(repository, &tag, INDEX, &index)
    }

    /// Pushes signatures under the tag where cosign 2 looks, in place of those that were there.
    pub fn push_signatures(
        &self,
        repository: &str,
        subject: &Subject,
        signatures: &[SignatureLayer],
    ) -> Result<Artifact, PushError> {
        let artifact = Artifact::signatures(signatures);
        self.push_artifact(repository, &subject.signature_tag(), &artifact)?;
        Ok(artifact)
    }
}
