//! A Sigstore instance in memory: an authority, a certificate log and two transparency logs, one
//! of each generation. It makes what real ones make, and what they would never make.

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

pub(crate) use crate::pair::Pair;
pub(crate) use crate::payload::{enclose, encode, pem, simple_payload, statement};
use crate::x509::{body, extension, finish, oid, sized};

pub(crate) const SUBJECT: &str =
    "https://github.com/schedkit/plumbing/.github/workflows/publish.yml@refs/heads/main";
const ORIGIN: &str = "rekor.test - 42";
pub(crate) const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// What a certificate is asked to say, and how it goes wrong.
pub(crate) struct Wish {
    pub(crate) names: Vec<GeneralName>,
    pub(crate) issuer: Option<&'static str>,
    pub(crate) old_issuer: Option<&'static str>,
    /// Seconds from now.
    pub(crate) life: (i64, i64),
    /// Seconds from now.
    pub(crate) logged: i64,
    pub(crate) sct: Sct,
    /// What the log calls itself in its checkpoint.
    pub(crate) origin: &'static str,
    /// What the certificate says beside all that.
    pub(crate) more: Vec<Extension>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sct {
    Good,
    Forged,
    Missing,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            names: vec![uri(SUBJECT)],
            issuer: Some(ISSUER),
            old_issuer: Some(ISSUER),
            life: (-300, 300),
            logged: -10,
            sct: Sct::Good,
            origin: ORIGIN,
            more: Vec::new(),
        }
    }
}

pub(crate) fn uri(text: &str) -> GeneralName {
    GeneralName::UniformResourceIdentifier(Ia5String::new(text).unwrap())
}

pub(crate) struct Instance {
    authority: Pair,
    authority_der: Vec<u8>,
    certificate_log: Pair,
    log: Pair,
    second_log: Ed25519KeyPair,
    now: i64,
}

impl Instance {
    pub(crate) fn new() -> Self {
        let now = Timestamp::now().as_second();
        let authority = Pair::new();
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
        let (certificate_log, log) = (Pair::new(), Pair::new());
        let second_log = Ed25519KeyPair::generate().unwrap();
        Self {
            authority,
            authority_der,
            certificate_log,
            log,
            second_log,
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
        let der: PublicKeyX509Der<'_> = self.second_log.public_key().as_der().unwrap();
        der.as_ref().to_vec()
    }

    /// A certificate for a key.
    pub(crate) fn certificate(&self, wish: &Wish, key: &Pair) -> Vec<u8> {
        let mut extensions = vec![
            extension(
                "2.5.29.37",
                false,
                &ExtendedKeyUsage(vec![oid("1.3.6.1.5.5.7.3.3")])
                    .to_der()
                    .unwrap(),
            ),
            extension(
                "2.5.29.17",
                true,
                &SubjectAltName(wish.names.clone()).to_der().unwrap(),
            ),
        ];
        if let Some(issuer) = wish.old_issuer {
            extensions.push(extension("1.3.6.1.4.1.57264.1.1", false, issuer.as_bytes()));
        }
        if let Some(issuer) = wish.issuer {
            let issuer = Utf8StringRef::new(issuer).unwrap().to_der().unwrap();
            extensions.push(extension("1.3.6.1.4.1.57264.1.8", false, &issuer));
        }
        extensions.extend(wish.more.iter().cloned());
        let life = (self.now + wish.life.0, self.now + wish.life.1);
        let mut body = body("CN=authority", &key.spki(), life, extensions);
        body.subject = Name::default();
        if wish.sct != Sct::Missing {
            let proof = self.sct(&body.to_der().unwrap(), wish.sct);
            let list = body.extensions.as_mut().unwrap();
            list.push(extension("1.3.6.1.4.1.11129.2.4.2", false, &proof));
        }
        finish(&self.authority, body)
    }

    fn sct(&self, body: &[u8], sct: Sct) -> Vec<u8> {
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
        let signer = if sct == Sct::Forged {
            &Pair::new()
        } else {
            &self.certificate_log
        };
        let id = sha256(&self.certificate_log.spki());
        let sct = [
            &[0][..],
            id.as_bytes(),
            &time,
            &[0, 0, 4, 3],
            &sized(&signer.sign(&message)),
        ]
        .concat();
        OctetString::new(sized(&sized(&sct)))
            .unwrap()
            .to_der()
            .unwrap()
    }

    /// A bundle of a signature with a certificate, in the log of the first generation.
    pub(crate) fn bundle(&self, payload: &str, wish: &Wish) -> Value {
        self.bundle_by(&Pair::new(), payload, wish)
    }

    pub(crate) fn bundle_by(&self, key: &Pair, payload: &str, wish: &Wish) -> Value {
        let certificate = self.certificate(wish, key);
        let signature = key.sign(&enclose(payload));
        let body = dsse_body(payload, &signature, &pem("CERTIFICATE", &certificate));
        bundle(
            payload,
            &signature,
            &json!({
                "certificate": {"rawBytes": encode(certificate)},
                "tlogEntries": [self.entry_as("dsse", &body, wish.logged, wish.origin)],
            }),
        )
    }

    /// A bundle of a signature with a key, in the log of the first generation.
    pub(crate) fn key_bundle(&self, payload: &str, key: &Pair) -> Value {
        let signature = key.sign(&enclose(payload));
        let body = dsse_body(payload, &signature, &pem("PUBLIC KEY", &key.spki()));
        let entry = self.entry("dsse", &body, -10);
        bundle(
            payload,
            &signature,
            &json!({"publicKey": {"hint": "x"}, "tlogEntries": [entry]}),
        )
    }

    /// The same in the log of the second generation.
    pub(crate) fn key_bundle_in_second_log(&self, payload: &str, key: &Pair) -> Value {
        self.described_key_bundle(payload, key, key.details())
    }

    /// The same, where the log describes the key in these words.
    pub(crate) fn described_key_bundle(&self, payload: &str, key: &Pair, words: &str) -> Value {
        let signature = key.sign(&enclose(payload));
        let verifier = json!({"keyDetails": words, "publicKey": {"rawBytes": encode(key.spki())}});
        let entry = self.second_entry(&enclose(payload), &signature, &verifier);
        bundle(
            payload,
            &signature,
            &json!({"publicKey": {}, "tlogEntries": [entry]}),
        )
    }

    /// A certificate's signature in the log of the second generation, without a timestamp.
    pub(crate) fn bundle_in_second_log(&self, payload: &str) -> Value {
        let key = Pair::new();
        let certificate = encode(self.certificate(&Wish::default(), &key));
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
    pub(crate) fn annotations(&self, payload: &[u8], wish: &Wish) -> Value {
        let key = Pair::new();
        let certificate = pem("CERTIFICATE", &self.certificate(wish, &key));
        let mut annotations =
            self.logged_annotations(payload, &key.sign(payload), &certificate, wish.logged);
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

    /// The same with a log entry of this body.
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

    fn entry(&self, kind: &str, body: &str, logged: i64) -> Value {
        self.entry_as(kind, body, logged, ORIGIN)
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
        let signed = self.second_log.sign(note.as_bytes());
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

fn dsse_body(payload: &str, signature: &[u8], signer: &str) -> String {
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
