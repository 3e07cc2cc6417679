//! Looks for signatures of an image where cosign puts them: at its referrers and at its `.sig` tag.
//!
//! Every signature is fetched as soon as it is known of, several at a time. A step
//! is a question to the registry; what it finds is data: further steps, a candidate, or a reason
//! why there is none. Called by `verify` only; believes nothing that it finds.

use bytes::Bytes;
use schedkit_core::{Digest, ImageRef, PinnedRef, Tag};

use super::candidate::{Candidate, CandidateName, Material, Source};
use super::refusal::Refusal;
use crate::foreign::brief;
use crate::registry::{Content, Descriptor, Document, Manifest, Registry, RegistryError};

/// More referrers or layers than this are not looked at.
pub(super) const MOST_CANDIDATES: usize = 64;
/// A bundle with its proof has some ten kilobytes.
const LARGEST_BUNDLE: usize = 1 << 20;
/// A simple-signing payload has some three hundred bytes.
const LARGEST_PAYLOAD: usize = 64 << 10;

const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";
const SIMPLE_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// A question to the registry.
#[derive(Debug)]
pub(super) enum Step {
    /// What refers to the image?
    Referrers,
    /// What is under its `.sig` tag?
    SignatureTag,
    /// Is this referrer a signature, and what does it say?
    Referrer(Descriptor),
    /// What does this layer of the `.sig` tag say?
    Layer(Descriptor),
}

/// What a question brought.
#[derive(Debug)]
pub(super) enum Found {
    /// More to ask; `total` counts what there is, which may be more than is asked.
    Steps { steps: Vec<Step>, total: usize },
    /// Something to judge.
    Candidate(Candidate),
    /// Something that cannot even be judged.
    Refused(CandidateName, Refusal),
    /// Nothing that calls itself a signature.
    Nothing,
    /// No answer, or none that can be used.
    Trouble(RegistryError),
}

/// Asks one question.
pub(super) async fn ask(registry: &impl Registry, image: &PinnedRef, step: Step) -> Found {
    let answer = match step {
        Step::Referrers => referrers(registry, image).await,
        Step::SignatureTag => signature_tag(registry, image).await,
        Step::Referrer(descriptor) => referrer(registry, image, &descriptor).await,
        Step::Layer(descriptor) => layer(registry, image, descriptor).await,
    };
    answer.unwrap_or_else(Found::Trouble)
}

async fn referrers(registry: &impl Registry, image: &PinnedRef) -> Result<Found, RegistryError> {
    let Some(mut list) = if_there(registry.referrers(image).await)? else {
        return Ok(Found::Nothing);
    };
    let total = list.len();
    // What a registry says of an artifact's type is often wrong, so nobody is left out for it; but
    // it is a good guess at whom to ask first.
    let guess = |one: &Descriptor| {
        !one.artifact_type
            .as_deref()
            .unwrap_or("")
            .starts_with(BUNDLE_TYPE)
    };
    list.sort_by_key(guess);
    list.truncate(MOST_CANDIDATES);
    let steps = list.into_iter().map(Step::Referrer).collect();
    Ok(Found::Steps { steps, total })
}

async fn signature_tag(
    registry: &impl Registry,
    image: &PinnedRef,
) -> Result<Found, RegistryError> {
    let Ok(tag) = format!("sha256-{}.sig", image.digest().hex()).parse::<Tag>() else {
        return Ok(Found::Nothing);
    };
    let tagged = ImageRef::tagged(image.repository().clone(), tag);
    let Some(document) = if_there(registry.document(&tagged).await)? else {
        return Ok(Found::Nothing);
    };
    let manifest = match read(&document) {
        Ok(manifest) => manifest,
        Err(refusal) => {
            let source = Source::SignatureTag;
            let digest = document.digest;
            return Ok(Found::Refused(CandidateName { source, digest }, refusal));
        }
    };
    let mut layers = manifest.layers;
    layers.retain(|layer| layer.media_type == SIMPLE_TYPE);
    let total = layers.len();
    layers.truncate(MOST_CANDIDATES);
    let steps = layers.into_iter().map(Step::Layer).collect();
    Ok(Found::Steps { steps, total })
}

async fn referrer(
    registry: &impl Registry,
    image: &PinnedRef,
    descriptor: &Descriptor,
) -> Result<Found, RegistryError> {
    let source = Source::Referrer;
    let name = CandidateName {
        source,
        digest: descriptor.digest.clone(),
    };
    let manifest = match manifest(registry, image, &name.digest).await? {
        Ok(manifest) => manifest,
        Err(refusal) => return Ok(Found::Refused(name, refusal)),
    };
    let is_bundle = |layer: &Descriptor| layer.media_type.starts_with(BUNDLE_TYPE);
    if !manifest.layers.iter().any(is_bundle) {
        return Ok(Found::Nothing);
    }
    if let Err(refusal) = check_subject(&manifest, image) {
        return Ok(Found::Refused(name, refusal));
    }
    let [layer] = manifest.layers.as_slice() else {
        return Ok(Found::Refused(name, Refusal::Layers(manifest.layers.len())));
    };
    Ok(match blob(registry, image, layer, LARGEST_BUNDLE).await? {
        Ok(bytes) => Found::Candidate(Candidate {
            name,
            material: Material::Bundle(bytes),
        }),
        Err(refusal) => Found::Refused(name, refusal),
    })
}

async fn layer(
    registry: &impl Registry,
    image: &PinnedRef,
    layer: Descriptor,
) -> Result<Found, RegistryError> {
    let source = Source::SignatureTag;
    let name = CandidateName {
        source,
        digest: layer.digest.clone(),
    };
    Ok(
        match blob(registry, image, &layer, LARGEST_PAYLOAD).await? {
            Ok(payload) => {
                let annotations = layer.annotations;
                let material = Material::Simple {
                    payload,
                    annotations,
                };
                Found::Candidate(Candidate { name, material })
            }
            Err(refusal) => Found::Refused(name, refusal),
        },
    )
}

/// A referrer says itself what it belongs to; a list that says otherwise was tampered with.
fn check_subject(manifest: &Manifest, image: &PinnedRef) -> Result<(), Refusal> {
    match &manifest.subject {
        Some(subject) if &subject.digest == image.digest() => Ok(()),
        Some(subject) => Err(Refusal::OtherSubject(subject.digest.to_string())),
        None => Err(Refusal::OtherSubject("none that it names".to_owned())),
    }
}

/// The outer result is trouble with the registry, the inner one a fault of the candidate.
async fn manifest(
    registry: &impl Registry,
    image: &PinnedRef,
    digest: &Digest,
) -> Result<Result<Manifest, Refusal>, RegistryError> {
    let pinned = PinnedRef::new(image.repository().clone(), digest.clone());
    let Some(document) = if_there(registry.manifest(&pinned).await)? else {
        return Ok(Err(Refusal::Gone));
    };
    Ok(read(&document))
}

fn read(document: &Document) -> Result<Manifest, Refusal> {
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
    let answer = registry.blob(image.repository(), descriptor, limit).await;
    Ok(if_there(answer)?.ok_or(Refusal::Gone))
}

/// Only a registry that answers and has no such thing makes an absence; all else is trouble.
fn if_there<T>(answer: Result<T, RegistryError>) -> Result<Option<T>, RegistryError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}
