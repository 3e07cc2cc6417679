//! A Sigstore instance in memory: an authority, a certificate log, and a transparency log of each
//! version of Rekor. It makes what real ones make, and what they never make.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use jiff::Timestamp;
use schedkit_image::hash::sha256;
use serde_json::{Value, json};
use x509_cert::der::Encode;
use x509_cert::der::asn1::{Ia5String, OctetString, Utf8StringRef};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, SubjectAltName};
use x509_cert::name::Name;

use crate::certificate::{body, extension, finish, oid, sized};
pub(crate) use crate::key_pair::SigningKey;
pub(crate) use crate::payload::{enclose, encode, pem, simple_payload, statement};

pub(crate) const SUBJECT: &str =
    "https://github.com/schedkit/plumbing/.github/workflows/publish.yml@refs/heads/main";
const ORIGIN: &str = "rekor.test - 42";
pub(crate) const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// The content of a certificate and of its log entry, and their flaws.
pub(crate) struct CertificateSpec {
    pub(crate) names: Vec<GeneralName>,
    pub(crate) issuer: Option<&'static str>,
    pub(crate) old_issuer: Option<&'static str>,
    /// Seconds from now.
    pub(crate) validity: (i64, i64),
    /// Seconds from now.
    pub(crate) logged: i64,
    pub(crate) sct: Sct,
    pub(crate) usage: ExtendedKeyUsage,
    /// The origin in the checkpoint.
    pub(crate) origin: &'static str,
    /// Further extensions.
    pub(crate) extensions: Vec<Extension>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sct {
    Good,
    /// Signed by another key.
    Foreign,
    /// With one bit changed.
    Tampered,
    /// Two good ones.
    Twice,
    Missing,
}

impl Default for CertificateSpec {
    fn default() -> Self {
        Self {
            names: vec![uri(SUBJECT)],
            issuer: Some(ISSUER),
            old_issuer: Some(ISSUER),
            validity: (-300, 300),
            logged: -10,
            sct: Sct::Good,
            usage: ExtendedKeyUsage(vec![oid("1.3.6.1.5.5.7.3.3")]),
            origin: ORIGIN,
            extensions: Vec::new(),
        }
    }
}

pub(crate) fn uri(text: &str) -> GeneralName {
    GeneralName::UniformResourceIdentifier(Ia5String::new(text).unwrap())
}

pub(crate) struct Sigstore {
    authority: SigningKey,
    authority_der: Vec<u8>,
    certificate_log: SigningKey,
    log: SigningKey,
    rekor_v2: Ed25519KeyPair,
    now: i64,
}

impl Sigstore {
    pub(crate) fn new() -> Self {
        let now = Timestamp::now().as_second();
        let authority = SigningKey::new();
        let basic = BasicConstraints {
            ca: true,
            path_len_constraint: None,
        };
        let extensions = vec![extension("2.5.29.19", true, &basic.to_der().unwrap())];
        let body = body(
            "CN=authority",
            &authority.spki(),
            (now - 9000, now + 9000),
            extensions,
        );
        let authority_der = finish(&authority, body);
        let (certificate_log, log) = (SigningKey::new(), SigningKey::new());
        let rekor_v2 = Ed25519KeyPair::generate().unwrap();
        Self {
            authority,
            authority_der,
            certificate_log,
            log,
            rekor_v2,
            now,
        }
    }

    pub(crate) fn root(&self) -> Value {
        let since = json!({"start": Timestamp::from_second(self.now - 9000).unwrap().to_string()});
        let log = |url: &str, der: &[u8], details: &str| {
            json!({
                "baseUrl": url, "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": encode(der), "keyDetails": details, "validFor": since},
                "logId": {"keyId": encode(sha256(der).as_bytes())},
            })
        };
        let ecdsa = "PKIX_ECDSA_P256_SHA_256";
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [
                log("https://rekor.test", &self.log.spki(), ecdsa),
                log("https://log2.test", &self.second_spki(), "PKIX_ED25519"),
            ],
            "ctlogs": [log("https://ct.test", &self.certificate_log.spki(), ecdsa)],
            "certificateAuthorities": [{
                "subject": {}, "uri": "https://fulcio.test", "validFor": since,
                "certChain": {"certificates": [{"rawBytes": encode(&self.authority_der)}]},
            }],
        })
    }

    fn second_spki(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = self.rekor_v2.public_key().as_der().unwrap();
        der.as_ref().to_vec()
    }

    /// A certificate for a key.
    pub(crate) fn certificate(&self, spec: &CertificateSpec, key: &SigningKey) -> Vec<u8> {
        let mut extensions = vec![
            extension("2.5.29.37", false, &spec.usage.to_der().unwrap()),
            extension(
                "2.5.29.17",
                true,
                &SubjectAltName(spec.names.clone()).to_der().unwrap(),
            ),
        ];
        if let Some(issuer) = spec.old_issuer {
            extensions.push(extension("1.3.6.1.4.1.57264.1.1", false, issuer.as_bytes()));
        }
        if let Some(issuer) = spec.issuer {
            let issuer = Utf8StringRef::new(issuer).unwrap().to_der().unwrap();
            extensions.push(extension("1.3.6.1.4.1.57264.1.8", false, &issuer));
        }
        extensions.extend(spec.extensions.iter().cloned());
        let validity = (self.now + spec.validity.0, self.now + spec.validity.1);
        let mut body = body("CN=authority", &key.spki(), validity, extensions);
        body.subject = Name::default();
        if spec.sct != Sct::Missing {
            let proof = self.sct(&body.to_der().unwrap(), spec.sct);
            let list = body.extensions.as_mut().unwrap();
            list.push(extension("1.3.6.1.4.1.11129.2.4.2", false, &proof));
        }
        finish(&self.authority, body)
    }

    fn sct(&self, body: &[u8], kind: Sct) -> Vec<u8> {
        let time = ((self.now - 60) * 1000).to_be_bytes();
        let length = (body.len() as u32).to_be_bytes();
        let issuer = sha256(&self.authority.spki());
        let message = [
            &[0, 0],
            &time[..],
            &[0, 1],
            issuer.as_bytes(),
            &length[1..],
            body,
            &[0, 0],
        ]
        .concat();
        let signer = if kind == Sct::Foreign {
            &SigningKey::new()
        } else {
            &self.certificate_log
        };
        let mut signature = signer.sign(&message);
        if kind == Sct::Tampered {
            let position = signature.len() - 4;
            signature[position] ^= 1;
        }
        let id = sha256(&self.certificate_log.spki());
        let sct = [
            &[0][..],
            id.as_bytes(),
            &time,
            &[0, 0, 4, 3],
            &sized(&signature),
        ]
        .concat();
        let list = match kind {
            Sct::Twice => [sized(&sct), sized(&sct)].concat(),
            _ => sized(&sct),
        };
        OctetString::new(sized(&list)).unwrap().to_der().unwrap()
    }

    /// A bundle of a signature with a certificate, in the log of Rekor v1.
    pub(crate) fn bundle(&self, payload: &str, spec: &CertificateSpec) -> Value {
        self.bundle_by(&SigningKey::new(), payload, spec)
    }

    pub(crate) fn bundle_by(
        &self,
        key: &SigningKey,
        payload: &str,
        spec: &CertificateSpec,
    ) -> Value {
        let certificate = self.certificate(spec, key);
        let signature = key.sign(&enclose(payload));
        let body = dsse_body(payload, &signature, &pem("CERTIFICATE", &certificate));
        bundle(
            payload,
            &signature,
            &json!({
                "certificate": {"rawBytes": encode(certificate)},
                "tlogEntries": [self.entry_as("dsse", &body, spec.logged, spec.origin)],
            }),
        )
    }

    /// A bundle of a signature with a key, in the log of Rekor v1.
    pub(crate) fn key_bundle(&self, payload: &str, key: &SigningKey) -> Value {
        let signature = key.sign(&enclose(payload));
        let body = dsse_body(payload, &signature, &pem("PUBLIC KEY", &key.spki()));
        let entry = self.entry("dsse", &body, -10);
        bundle(
            payload,
            &signature,
            &json!({"publicKey": {"hint": "x"}, "tlogEntries": [entry]}),
        )
    }

    /// The same in the log of Rekor v2.
    pub(crate) fn key_bundle_in_rekor_v2(&self, payload: &str, key: &SigningKey) -> Value {
        self.described_key_bundle(payload, key, key.details())
    }

    /// The same, with this `keyDetails` in the entry.
    pub(crate) fn described_key_bundle(
        &self,
        payload: &str,
        key: &SigningKey,
        details: &str,
    ) -> Value {
        let signature = key.sign(&enclose(payload));
        self.enter_in_rekor_v2(payload, &signature, &key.spki(), details)
    }

    /// The same of a signature by this key that was made elsewhere.
    pub(crate) fn enter_in_rekor_v2(
        &self,
        payload: &str,
        signature: &[u8],
        spki: &[u8],
        details: &str,
    ) -> Value {
        let verifier = json!({"keyDetails": details, "publicKey": {"rawBytes": encode(spki)}});
        let entry = self.second_entry(&enclose(payload), signature, &verifier);
        bundle(
            payload,
            signature,
            &json!({"publicKey": {}, "tlogEntries": [entry]}),
        )
    }

    /// A certificate's signature in the log of Rekor v2, without a timestamp.
    pub(crate) fn bundle_in_rekor_v2(&self, payload: &str) -> Value {
        let key = SigningKey::new();
        let certificate = encode(self.certificate(&CertificateSpec::default(), &key));
        let signature = key.sign(&enclose(payload));
        let verifier = json!({"keyDetails": "PKIX_ECDSA_P256_SHA_256", "x509Certificate": {"rawBytes": certificate}});
        let entry = self.second_entry(&enclose(payload), &signature, &verifier);
        bundle(
            payload,
            &signature,
            &json!({"certificate": {"rawBytes": certificate}, "tlogEntries": [entry]}),
        )
    }

    /// The annotations of a `.sig` layer made with a certificate.
    pub(crate) fn annotations(&self, payload: &[u8], spec: &CertificateSpec) -> Value {
        let key = SigningKey::new();
        let certificate = pem("CERTIFICATE", &self.certificate(spec, &key));
        let mut annotations =
            self.logged_annotations(payload, &key.sign(payload), &certificate, spec.logged);
        annotations["dev.sigstore.cosign/certificate"] = certificate.into();
        annotations
    }

    /// The annotations of a `.sig` layer whose signature is in the log.
    pub(crate) fn logged_annotations(
        &self,
        payload: &[u8],
        signature: &[u8],
        signer: &str,
        logged: i64,
    ) -> Value {
        let body = hashed_body(payload, signature, signer);
        self.annotations_with(&body, signature, logged)
    }

    /// The same with this body of the log entry.
    pub(crate) fn annotations_with(&self, body: &Value, signature: &[u8], logged: i64) -> Value {
        let entry = self.entry("hashedrekord", &body.to_string(), logged);
        let bundle = json!({
            "SignedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
            "Payload": {
                "body": entry["canonicalizedBody"], "integratedTime": self.now + logged,
                "logIndex": 7, "logID": sha256(&self.log.spki()).hex(),
            },
        });
        json!({
            "dev.cosignproject.cosign/signature": encode(signature),
            "dev.sigstore.cosign/bundle": bundle.to_string(),
        })
    }

    pub(crate) fn entry(&self, kind: &str, body: &str, logged: i64) -> Value {
        self.entry_as(kind, body, logged, ORIGIN)
    }

    /// An entry whose checkpoint is signed by another key than the log's.
    pub(crate) fn entry_with_checkpoint_by(&self, signer: &SigningKey, body: &str) -> Value {
        let mut entry = self.entry("dsse", body, -10);
        let note = note(ORIGIN, body);
        let id = sha256(&self.log.spki());
        let signature = [&id.as_bytes()[..4], &signer.sign(note.as_bytes())].concat();
        entry["inclusionProof"] = proof(&note, body, "rekor.test", &signature);
        entry
    }

    fn entry_as(&self, kind: &str, body: &str, logged: i64, origin: &str) -> Value {
        let id = sha256(&self.log.spki());
        let time = self.now + logged;
        let promised = format!(
            r#"{{"body":"{}","integratedTime":{time},"logID":"{}","logIndex":7}}"#,
            encode(body),
            id.hex()
        );
        let note = note(origin, body);
        let signature = [&id.as_bytes()[..4], &self.log.sign(note.as_bytes())].concat();
        json!({
            "logIndex": "7", "logId": {"keyId": encode(id.as_bytes())},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": time.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": encode(self.log.sign(promised.as_bytes()))},
            "inclusionProof": proof(&note, body, "rekor.test", &signature),
            "canonicalizedBody": encode(body),
        })
    }

    fn second_entry(&self, message: &[u8], signature: &[u8], verifier: &Value) -> Value {
        let body = json!({
            "apiVersion": "0.0.2", "kind": "hashedrekord",
            "spec": {"hashedRekordV002": {
                "data": {"algorithm": "SHA2_256", "digest": encode(sha256(message).as_bytes())},
                "signature": {"content": encode(signature), "verifier": verifier},
            }},
        })
        .to_string();
        let id = sha256(&self.second_spki());
        let note = note("log2.test", &body);
        let signed = self.rekor_v2.sign(note.as_bytes());
        let signature = [&id.as_bytes()[..4], signed.as_ref()].concat();
        json!({
            "logIndex": "0", "logId": {"keyId": encode(id.as_bytes())},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "inclusionProof": proof(&note, &body, "log2.test", &signature),
            "canonicalizedBody": encode(&body),
        })
    }
}

pub(crate) fn bundle(payload: &str, signature: &[u8], material: &Value) -> Value {
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": material,
        "dsseEnvelope": {
            "payload": encode(payload), "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"sig": encode(signature)}],
        },
    })
}

pub(crate) fn hashed_body(payload: &[u8], signature: &[u8], signer: &str) -> Value {
    json!({
        "apiVersion": "0.0.1", "kind": "hashedrekord",
        "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": sha256(payload).hex()}},
            "signature": {"content": encode(signature), "publicKey": {"content": encode(signer)}},
        },
    })
}

pub(crate) fn dsse_body(payload: &str, signature: &[u8], signer: &str) -> String {
    let hash = json!({"algorithm": "sha256", "value": sha256(payload.as_bytes()).hex()});
    let signature = json!({"signature": encode(signature), "verifier": encode(signer)});
    json!({
        "apiVersion": "0.0.1", "kind": "dsse",
        "spec": {"envelopeHash": hash, "payloadHash": hash, "signatures": [signature]},
    })
    .to_string()
}

/// A tree of one leaf: its root is the leaf's hash.
fn leaf_hash(body: &str) -> String {
    encode(sha256(&[&[0], body.as_bytes()].concat()).as_bytes())
}

fn note(origin: &str, body: &str) -> String {
    format!("{origin}\n1\n{}\n", leaf_hash(body))
}

fn proof(note: &str, body: &str, name: &str, signature: &[u8]) -> Value {
    json!({
        "logIndex": "0", "rootHash": leaf_hash(body), "treeSize": "1", "hashes": [],
        "checkpoint": {"envelope": format!("{note}\n— {name} {}\n", encode(signature))},
    })
}
