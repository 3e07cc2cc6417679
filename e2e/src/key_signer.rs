//! Signs images with a key of its own, as `cosign sign --key` of cosign 2 does, without the lab's
//! Sigstore.

use k8s_openapi::ByteString;
use lab::oci::{Registry, SignatureLayer, Subject};
use lab::signing::simple_payload;
use rcgen::{KeyPair, SigningKey};

pub struct KeySigner(KeyPair);

impl KeySigner {
    /// With a new key.
    #[allow(clippy::new_without_default, reason = "two of them are not equal")]
    pub fn new() -> Self {
        Self(KeyPair::generate().unwrap())
    }

    /// As a trust policy names it.
    pub fn public_key(&self) -> String {
        self.0.public_key_pem()
    }

    /// Signs what is in the registry already.
    pub fn sign(&self, registry: &Registry, repository: &str, subject: &Subject) {
        let payload = simple_payload(repository, &subject.digest);
        let signature = ByteString(self.0.sign(payload.as_bytes()).unwrap());
        // Serialised as base64.
        let signature = serde_json::to_value(signature).unwrap();
        let layer = SignatureLayer::by_key(&payload, signature.as_str().unwrap());
        registry
            .push_signatures(repository, subject, &[layer])
            .unwrap();
    }
}
