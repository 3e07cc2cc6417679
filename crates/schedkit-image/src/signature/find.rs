//! Finds signatures of an image where cosign stores them: its referrers and its `.sig` tag.
//!
//! Mirrors may lack signatures that the registry has, so both are asked of each place of a repository.
//! Every signature is fetched as soon as it is listed, several at a time. A lookup is one step; its
//! result is data: further lookups, a signature, or the reason why there is none. Used by `verify`
//! only; nothing that it finds is verified yet.

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Tag};

use super::found::{FoundSignature, Material, SignatureId, SignatureSource};
use super::payload::SIGNATURE_PREDICATE;
use super::refusal::Refusal;
use crate::registry::{Content, Descriptor, Document, Manifest, Registry, RegistryError};
use crate::untrusted::brief;

/// Further referrers are not fetched. Years of daily attestations fit.
pub(super) const MAX_SIGNATURES: usize = 2048;
/// A bundle with its proof has some ten kilobytes.
const MAX_BUNDLE_BYTES: usize = 1 << 20;
/// A simple-signing payload has some three hundred bytes.
const MAX_PAYLOAD_BYTES: usize = 64 << 10;

const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";
/// The annotation in which cosign repeats what a bundle states.
const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";
const SIMPLE_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

#[derive(Debug)]
pub(super) enum Lookup {
    /// The list of referrers of the image at one place of its repository.
    Referrers { place: usize },
    /// The manifest under its `.sig` tag at one place.
    SignatureTag { place: usize },
    /// One referrer, and its bundle if it is a signature.
    Referrer(Descriptor),
    /// One layer of the `.sig` tag.
    Layer(Descriptor),
}

#[derive(Debug)]
pub(super) enum LookupResult {
    /// `total` counts the listed entries; at most [`MAX_SIGNATURES`] of them are looked up.
    Further {
        lookups: Vec<Lookup>,
        total: usize,
    },
    Signature(FoundSignature),
    /// A signature that cannot even be fetched or parsed.
    Refused(SignatureId, Refusal),
    /// Not a signature.
    Nothing,
    RegistryFailed(RegistryError),
}

pub(super) async fn look_up(
    registry: &impl Registry,
    image: &PinnedRef,
    lookup: Lookup,
) -> LookupResult {
    let result = match lookup {
        Lookup::Referrers { place } => referrers(registry, image, place).await,
        Lookup::SignatureTag { place } => signature_tag(registry, image, place).await,
        Lookup::Referrer(descriptor) => referrer(registry, image, &descriptor).await,
        Lookup::Layer(descriptor) => layer(registry, image, descriptor).await,
    };
    result.unwrap_or_else(LookupResult::RegistryFailed)
}

async fn referrers(
    registry: &impl Registry,
    image: &PinnedRef,
    place: usize,
) -> Result<LookupResult, RegistryError> {
    let Some(mut list) = if_found(registry.referrers_at(image, place).await)? else {
        return Ok(LookupResult::Nothing);
    };
    let total = list.len();
    list.sort_by_key(likelihood);
    list.truncate(MAX_SIGNATURES);
    let lookups = list.into_iter().map(Lookup::Referrer).collect();
    Ok(LookupResult::Further { lookups, total })
}

/// The likeliest signatures are looked up first. What a list says of a referrer is often missing or
/// wrong, so it decides the order only and excludes none.
fn likelihood(entry: &Descriptor) -> u8 {
    let artifact_type = entry.artifact_type.as_deref().unwrap_or_default();
    let predicate = entry.annotations.get(PREDICATE_TYPE);
    match predicate.map(String::as_str) {
        Some(SIGNATURE_PREDICATE) => 0,
        None if artifact_type.starts_with(BUNDLE_TYPE) => 1,
        None => 2,
        Some(_) => 3,
    }
}

async fn signature_tag(
    registry: &impl Registry,
    image: &PinnedRef,
    place: usize,
) -> Result<LookupResult, RegistryError> {
    let Ok(tag) = format!("sha256-{}.sig", image.digest().hex()).parse::<Tag>() else {
        return Ok(LookupResult::Nothing);
    };
    let tagged = ImageRef::tagged(image.repository().clone(), tag);
    let Some(document) = if_found(registry.document_at(&tagged, place).await)? else {
        return Ok(LookupResult::Nothing);
    };
    let manifest = match parse(&document) {
        Ok(manifest) => manifest,
        Err(refusal) => {
            let source = SignatureSource::SignatureTag;
            let digest = document.digest;
            let id = SignatureId { source, digest };
            return Ok(LookupResult::Refused(id, refusal));
        }
    };
    let mut layers = manifest.layers;
    layers.retain(|layer| layer.media_type == SIMPLE_TYPE);
    let total = layers.len();
    layers.truncate(MAX_SIGNATURES);
    let lookups = layers.into_iter().map(Lookup::Layer).collect();
    Ok(LookupResult::Further { lookups, total })
}

async fn referrer(
    registry: &impl Registry,
    image: &PinnedRef,
    descriptor: &Descriptor,
) -> Result<LookupResult, RegistryError> {
    let source = SignatureSource::Referrer;
    let id = SignatureId {
        source,
        digest: descriptor.digest.clone(),
    };
    let manifest = match manifest(registry, image, &id.digest).await? {
        Ok(manifest) => manifest,
        Err(refusal) => return Ok(LookupResult::Refused(id, refusal)),
    };
    let is_bundle = |layer: &Descriptor| layer.media_type.starts_with(BUNDLE_TYPE);
    if !manifest.layers.iter().any(is_bundle) {
        return Ok(LookupResult::Nothing);
    }
    if let Err(refusal) = check_subject(&manifest, image) {
        return Ok(LookupResult::Refused(id, refusal));
    }
    let [layer] = manifest.layers.as_slice() else {
        return Ok(LookupResult::Refused(
            id,
            Refusal::Layers(manifest.layers.len()),
        ));
    };
    Ok(
        match blob(registry, image, layer, MAX_BUNDLE_BYTES).await? {
            Ok(bytes) => LookupResult::Signature(FoundSignature {
                id,
                material: Material::Bundle(bytes),
            }),
            Err(refusal) => LookupResult::Refused(id, refusal),
        },
    )
}

async fn layer(
    registry: &impl Registry,
    image: &PinnedRef,
    layer: Descriptor,
) -> Result<LookupResult, RegistryError> {
    let source = SignatureSource::SignatureTag;
    let id = SignatureId {
        source,
        digest: layer.digest.clone(),
    };
    Ok(
        match blob(registry, image, &layer, MAX_PAYLOAD_BYTES).await? {
            Ok(payload) => {
                let annotations = layer.annotations;
                let material = Material::SimpleSigning {
                    payload,
                    annotations,
                };
                LookupResult::Signature(FoundSignature { id, material })
            }
            Err(refusal) => LookupResult::Refused(id, refusal),
        },
    )
}

/// A referrer names its subject; if it is another image, the list was tampered with.
fn check_subject(manifest: &Manifest, image: &PinnedRef) -> Result<(), Refusal> {
    match &manifest.subject {
        Some(subject) if &subject.digest == image.digest() => Ok(()),
        Some(subject) => Err(Refusal::OtherSubject(subject.digest.to_string())),
        None => Err(Refusal::OtherSubject("none".to_owned())),
    }
}

/// The outer error is a failed request, the inner one a fault of the signature.
async fn manifest(
    registry: &impl Registry,
    image: &PinnedRef,
    digest: &Digest,
) -> Result<Result<Manifest, Refusal>, RegistryError> {
    let pinned = PinnedRef::new(image.repository().clone(), digest.clone());
    let Some(document) = if_found(registry.manifest(&pinned).await)? else {
        return Ok(Err(Refusal::Missing));
    };
    Ok(parse(&document))
}

fn parse(document: &Document) -> Result<Manifest, Refusal> {
    match Content::parse(&document.bytes) {
        Ok(Content::Manifest(manifest)) => Ok(manifest),
        Ok(Content::Index(_)) => Err(Refusal::Manifest("it is an index".to_owned())),
        Err(error) => Err(Refusal::Manifest(brief(&error.to_string()))),
    }
}

async fn blob(
    registry: &impl Registry,
    image: &PinnedRef,
    descriptor: &Descriptor,
    limit: usize,
) -> Result<Result<Bytes, Refusal>, RegistryError> {
    let size = descriptor.size;
    if size > limit as u64 {
        return Ok(Err(Refusal::TooBig { size, limit }));
    }
    let result = registry.blob(image.repository(), descriptor, limit).await;
    Ok(if_found(result)?.ok_or(Refusal::Missing))
}

/// `None` only when the registry answered that it has no such content. Any other failure leaves
/// that open and stays an error.
fn if_found<T>(result: Result<T, RegistryError>) -> Result<Option<T>, RegistryError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
