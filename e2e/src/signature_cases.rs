//! Signed images for tests of verification: good ones, and ones with one flaw each. The suite
//! without cosign compares schedctl with what is expected; `long_signatures` asks both versions of
//! cosign about the same images.

pub mod table;

use lab::oci::{Image, Registry, Subject};
use lab::signing::{
    Algorithm, Form, Hash, IDENTITY, ISSUER, KeyPair, Match, Scheme, Signed, simple_payload,
    statement,
};

use crate::registries::{Registries, reference};

/// Every keyless case of one form, as `bundle/NAME` or `sig/NAME`, and its image. All are the same
/// image in repositories of their own: the same digest, another signature.
pub fn keyless(registries: &Registries, registry: &Registry, form: Form) -> Vec<(String, String)> {
    let image = Image::marked(&format!("{form:?}")).unwrap();
    let subject = Subject::from(&image);
    let material = registries.authority.issue("keyless", &subject.digest);
    let material = material.unwrap();
    let names: Vec<_> = match form {
        Form::Bundle => material.bundles.keys().cloned().collect(),
        Form::SigTag => material.signatures.keys().cloned().collect(),
    };
    let push = |name: String| {
        let kind = match form {
            Form::Bundle => "bundle",
            Form::SigTag => "sig",
        };
        let case = format!("{kind}/{name}");
        registry.push_image(&case, "latest", &image).unwrap();
        match form {
            Form::Bundle => registry.attach_bundle(&case, &subject, &material.bundles[&name]),
            Form::SigTag => {
                let layer = material.signatures[&name].clone();
                registry.push_signatures(&case, &subject, &[layer])
            }
        }
        .unwrap();
        let reference = reference(registry, &case, &subject);
        (case, reference)
    };
    names.into_iter().map(push).collect()
}

/// A signature by a kind of key, in one form.
pub struct KeyCase {
    pub name: String,
    pub algorithm: Algorithm,
    pub key: KeyPair,
    pub reference: String,
    /// The hash that belongs to a larger curve, where it was used: cosign must be told it.
    pub larger_hash: Option<&'static str>,
    pub accepted: bool,
}

/// Every kind of key with the hash and scheme that cosign uses, and others, in both forms.
pub fn keys(registries: &Registries, registry: &Registry) -> Vec<KeyCase> {
    let default = (Hash::Sha256, Scheme::Default);
    let mut kinds: Vec<_> = Algorithm::ALL.map(|kind| (kind, default)).into();
    kinds.extend([
        (Algorithm::Rsa2048, (Hash::Sha256, Scheme::Pss)),
        (Algorithm::Rsa2048, (Hash::Sha512, Scheme::Default)),
        (Algorithm::EcdsaP256, (Hash::Sha384, Scheme::Default)),
        (Algorithm::EcdsaP384, (Hash::Sha384, Scheme::Default)),
        (Algorithm::EcdsaP521, (Hash::Sha512, Scheme::Default)),
    ]);
    let mut cases = Vec::new();
    for (number, (algorithm, how)) in kinds.into_iter().enumerate() {
        let name = format!("key-{number}");
        let key = registries.sigstore.key_pair(&name, algorithm).unwrap();
        let image = Image::marked(&name).unwrap();
        let subject = Subject::from(&image);
        let payload = simple_payload("keys", &subject.digest);
        let statement = statement(&subject.digest);
        let signed = registries
            .sigstore
            .sign_bytes(&key, how, &payload, &statement)
            .unwrap();
        let larger_hash = larger_hash(algorithm, how.0);
        for form in [Form::SigTag, Form::Bundle] {
            let repository = format!("keys/{name}-{}", form as u8);
            registry.push_image(&repository, "latest", &image).unwrap();
            attach(registry, &repository, &subject, form, &payload, &signed);
            cases.push(KeyCase {
                name: format!("{algorithm:?} {how:?} {form:?}"),
                algorithm,
                key: key.clone(),
                reference: reference(registry, &repository, &subject),
                larger_hash,
                accepted: how == default || larger_hash.is_some(),
            });
        }
    }
    cases
}

/// Attaches a signature by key in one form; the payload must be what was signed.
pub fn attach(
    registry: &Registry,
    repository: &str,
    subject: &Subject,
    form: Form,
    payload: &str,
    signed: &Signed,
) {
    match form {
        Form::SigTag => registry.push_signatures(repository, subject, &[signed.layer(payload)]),
        Form::Bundle => registry.attach_bundle(repository, subject, &signed.bundle),
    }
    .unwrap();
}

fn larger_hash(algorithm: Algorithm, hash: Hash) -> Option<&'static str> {
    match (algorithm, hash) {
        (Algorithm::EcdsaP384, Hash::Sha384) => Some("sha384"),
        (Algorithm::EcdsaP521, Hash::Sha512) => Some("sha512"),
        _ => None,
    }
}

/// Identities and issuers that a policy asks for, and whether they fit [`IDENTITY`] and [`ISSUER`].
pub fn identities() -> Vec<(Match, Match, bool)> {
    let exact = |text: &str| Match::Exact(text.to_owned());
    let regexp = |text: &str| Match::Regexp(text.to_owned());
    let issuer = || exact(ISSUER);
    vec![
        (exact(IDENTITY), issuer(), true),
        (exact("https://github.com/schedkit/"), issuer(), false),
        (exact(IDENTITY), exact("https://token.actions"), false),
        (regexp("^https://github\\.com/schedkit/"), issuer(), true),
        (regexp("plumbing"), issuer(), true),
        (regexp("^plumbing"), issuer(), false),
        (regexp("schedkit$"), issuer(), false),
        (regexp("(?i)SCHEDKIT/PLUMBING"), issuer(), true),
        (regexp(".*"), regexp("^https://token\\.actions\\."), true),
        (regexp(".*"), regexp("^https://issuer"), false),
    ]
}

/// An image with the good bundle of [`IDENTITY`].
pub fn good_bundle(registries: &Registries, registry: &Registry, repository: &str) -> String {
    let image = Image::marked(repository).unwrap();
    let subject = Subject::from(&image);
    let material = registries.authority.issue(repository, &subject.digest);
    let material = material.unwrap();
    registry.push_image(repository, "latest", &image).unwrap();
    let good = &material.bundles["good"];
    registry.attach_bundle(repository, &subject, good).unwrap();
    reference(registry, repository, &subject)
}

/// The lines of a policy that asks for this identity and issuer.
pub fn policy_lines<'a>(identity: &'a Match, issuer: &'a Match) -> [(&'static str, &'a str); 2] {
    let line = |name, regexp, wanted: &'a Match| match wanted {
        Match::Exact(text) => (name, text.as_str()),
        Match::Regexp(text) => (regexp, text.as_str()),
    };
    [
        line("issuer", "issuerRegExp", issuer),
        line("subject", "subjectRegExp", identity),
    ]
}
