//! What the cases of policies with rules share: two keys, a Sigstore, and images with labels.

use std::fs;

use schedkit_core::{Digest, PinnedRef};
use schedkit_image::signature::{Verified, VerifyError};
use schedkit_image::trust::Policy;
use schedkit_image::untrusted::Reader;
use serde_json::{Value, json};
use x509_cert::ext::Extension;

use crate::fixture::verify_now;
use crate::memory_registry::{MemoryRegistry, repository};
use crate::sigstore::{CertificateSpec, SigningKey, Sigstore, bundle, enclose, pem, statement};

/// Two keys `a` and `b`, and a Sigstore.
pub(crate) struct World {
    pub(crate) a: SigningKey,
    pub(crate) b: SigningKey,
    pub(crate) sigstore: Sigstore,
    pub(crate) registry: MemoryRegistry,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            a: SigningKey::new(),
            b: SigningKey::new(),
            sigstore: Sigstore::new(),
            registry: MemoryRegistry::default(),
        }
    }

    /// With the signers `a`, `b` and `ci`, and these rules.
    pub(crate) fn policy(&self, rules: &str) -> Policy {
        self.policy_with("{ref: refs/heads/main}", rules)
    }

    pub(crate) fn policy_with(&self, claims: &str, rules: &str) -> Policy {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("a.pem", &pem("PUBLIC KEY", &self.a.spki()));
        write("b.pem", &pem("PUBLIC KEY", &self.b.spki()));
        write("root.json", &self.sigstore.root().to_string());
        let text = format!(
            "version: 2
trustedRoot: root.json
signers:
  a: {{key: a.pem}}
  b: {{key: b.pem}}
  ci:
    issuer: https://token.actions.githubusercontent.com
    subjectPrefix: https://github.com/schedkit/plumbing/
    claims: {claims}
rules:
{rules}"
        );
        write("policy.yaml", &text);
        let policy = Policy::read(&folder.path().join("policy.yaml"), Reader::User);
        policy.unwrap_or_else(|error| panic!("{text}{error:?}"))
    }

    /// Signs with a key, without a log.
    pub(crate) fn sign(&self, image: &PinnedRef, key: &SigningKey) {
        self.attach(image, key, &statement(image.digest()));
    }

    pub(crate) fn attach(&self, image: &PinnedRef, key: &SigningKey, payload: &str) {
        let signature = key.sign(&enclose(payload));
        let material = json!({"publicKey": {"hint": "x"}});
        self.registry
            .attach(image, &bundle(payload, &signature, &material));
    }

    /// Signs with a certificate that has this claim.
    pub(crate) fn sign_as_ci(&self, image: &PinnedRef, extensions: Vec<Extension>) {
        let spec = CertificateSpec {
            extensions,
            ..CertificateSpec::default()
        };
        let bundle = self.sigstore.bundle(&statement(image.digest()), &spec);
        self.registry.attach(image, &bundle);
    }

    /// An image for one platform with these labels.
    pub(crate) fn image(&self, labels: &Value) -> PinnedRef {
        let manifest = self.manifest(labels, &json!({}));
        PinnedRef::new(repository(), digest(&manifest))
    }

    pub(crate) fn manifest(&self, labels: &Value, annotations: &Value) -> Value {
        let config = json!({"os": "linux", "architecture": "amd64", "config": {"Labels": labels}});
        let manifest = json!({
            "schemaVersion": 2, "layers": [], "annotations": annotations,
            "config": self.registry.put(config.to_string().as_bytes()),
        });
        self.registry.put(manifest.to_string().as_bytes())
    }

    /// An image for these platforms of Linux (`arm64`, `arm64/v8`), each with its labels.
    pub(crate) fn index(&self, images: &[(&str, Value)], annotations: &Value) -> PinnedRef {
        let entry = |(platform, labels): &(&str, Value)| {
            let mut entry = self.manifest(labels, &json!({}));
            let (architecture, variant) = platform.split_once('/').unwrap_or((platform, ""));
            entry["platform"] =
                json!({"os": "linux", "architecture": architecture, "variant": variant});
            entry
        };
        let manifests: Vec<Value> = images.iter().map(entry).collect();
        let index = json!({"schemaVersion": 2, "manifests": manifests, "annotations": annotations});
        let index = self.registry.put(index.to_string().as_bytes());
        PinnedRef::new(repository(), digest(&index))
    }

    pub(crate) async fn verify(
        &self,
        rules: &str,
        image: &PinnedRef,
    ) -> Result<Verified, VerifyError> {
        verify_now(&self.registry, &self.policy(rules), image).await
    }
}

pub(crate) fn digest(descriptor: &Value) -> Digest {
    descriptor["digest"].as_str().unwrap().parse().unwrap()
}
