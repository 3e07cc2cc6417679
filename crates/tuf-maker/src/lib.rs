//! Makes TUF repositories, sound ones and others. For tests only: those of several crates share it, and
//! it knows nothing of schedkit.

#![expect(
    clippy::unwrap_used,
    reason = "only tests call it, and a panic fails the test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// By their paths in the repository.
pub type Files = BTreeMap<String, Vec<u8>>;

pub const EXPIRES: &str = "2099-01-01T00:00:00Z";

/// ECDSA on P-256.
pub struct Key {
    pair: EcdsaKeyPair,
    pub id: String,
    pub public: Value,
}

/// Of the newest release.
#[derive(Default)]
pub struct Versions {
    pub timestamp: u64,
    pub snapshot: u64,
    pub targets: u64,
}

/// A repository and its keys.
pub struct Maker {
    /// Two, and both must sign.
    root_keys: Vec<Key>,
    /// For everything else.
    online: Key,
    /// The first has version 1.
    roots: Vec<Vec<u8>>,
    pub versions: Versions,
}

impl Key {
    pub fn generate() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let encoded = STANDARD.encode(der.as_ref());
        let lines: Vec<&str> = encoded.as_bytes().chunks(64).map(text).collect();
        let lines = lines.join("\n");
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----\n");
        let public = json!({
            "keytype": "ecdsa", "scheme": "ecdsa-sha2-nistp256", "keyval": {"public": pem},
        });
        let id = hex(&canonical(&public));
        Self { pair, id, public }
    }

    fn sign(&self, content: &[u8]) -> Value {
        let signature = self.pair.sign(&SystemRandom::new(), content).unwrap();
        json!({"keyid": self.id, "sig": hex_of(signature.as_ref())})
    }
}

impl Maker {
    /// With its first root, and nothing released.
    pub fn generate() -> Self {
        Self::beginning_with(vec![Key::generate(), Key::generate()], |_| {})
    }

    /// One who holds one of the root's keys holds both.
    pub fn with_one_key_twice() -> Self {
        let key = Key::generate();
        let same = Key {
            pair: EcdsaKeyPair::from_pkcs8(
                &ECDSA_P256_SHA256_ASN1_SIGNING,
                key.pair.to_pkcs8v1().unwrap().as_ref(),
            )
            .unwrap(),
            id: "other".to_owned(),
            public: key.public.clone(),
        };
        Self::beginning_with(vec![key, same], |_| {})
    }

    /// Whose first root has this version.
    pub fn with_version(version: u64) -> Self {
        let keys = vec![Key::generate(), Key::generate()];
        Self::beginning_with(keys, |root| root["version"] = version.into())
    }

    fn beginning_with(root_keys: Vec<Key>, edit: impl Fn(&mut Value)) -> Self {
        let mut maker = Self {
            root_keys,
            online: Key::generate(),
            roots: Vec::new(),
            versions: Versions::default(),
        };
        let root = maker.root(edit);
        let signers: Vec<&Key> = maker.root_keys.iter().collect();
        let root = enclose(&root, &signers);
        maker.roots.push(root);
        maker
    }

    /// What a user pins.
    pub fn anchor(&self) -> &[u8] {
        &self.roots[0]
    }

    /// A root with other keys, signed by the old ones and the new ones.
    pub fn rotate(&mut self) {
        self.rotate_with(true, |_| {});
    }

    /// The same, perhaps without the old ones' signatures, after an edit of its content.
    pub fn rotate_with(&mut self, by_old_keys: bool, edit: impl Fn(&mut Value)) {
        let new_keys = vec![Key::generate(), Key::generate()];
        let old_keys = std::mem::replace(&mut self.root_keys, new_keys);
        let root = self.root(edit);
        let old_keys = old_keys.iter().filter(|_| by_old_keys);
        let signers: Vec<&Key> = old_keys.chain(&self.root_keys).collect();
        let root = enclose(&root, &signers);
        self.roots.push(root);
    }

    fn root(&self, edit: impl Fn(&mut Value)) -> Value {
        let keys = self.root_keys.iter().chain([&self.online]);
        let keys: BTreeMap<&str, &Value> = keys.map(|key| (&*key.id, &key.public)).collect();
        let ids: Vec<&str> = self.root_keys.iter().map(|key| &*key.id).collect();
        let online = json!({"keyids": [self.online.id], "threshold": 1});
        let mut root = json!({
            "_type": "root", "spec_version": "1.0.31", "version": self.roots.len() + 1,
            "expires": EXPIRES, "consistent_snapshot": true, "keys": keys,
            "roles": {
                "root": {"keyids": ids, "threshold": 2},
                "timestamp": online, "snapshot": online, "targets": online,
            },
        });
        edit(&mut root);
        root
    }

    /// Everything with the next versions.
    pub fn release(&mut self, trusted_root: &str) -> Files {
        self.release_with(trusted_root, |_, _| {})
    }

    /// The same, with an edit of the content of `targets`, `snapshot` and `timestamp` before it is
    /// signed.
    pub fn release_with(&mut self, trusted_root: &str, edit: impl Fn(&str, &mut Value)) -> Files {
        let Versions {
            timestamp,
            snapshot,
            targets,
        } = &mut self.versions;
        for version in [&mut *timestamp, &mut *snapshot, &mut *targets] {
            *version += 1;
        }
        let hash = hex(trusted_root.as_bytes());
        let target = json!({"length": trusted_root.len(), "hashes": {"sha256": hash}});
        let signed = |role: &str, version: u64, field: &str, content: Value| {
            let mut signed = json!({
                "_type": role, "spec_version": "1.0.31", "version": version, "expires": EXPIRES,
                field: content,
            });
            edit(role, &mut signed);
            enclose(&signed, &[&self.online])
        };
        let content = json!({"trusted_root.json": target});
        let targets_file = signed("targets", *targets, "targets", content);
        let content = json!({"targets.json": pin(&targets_file, *targets)});
        let snapshot_file = signed("snapshot", *snapshot, "meta", content);
        let content = json!({"snapshot.json": pin(&snapshot_file, *snapshot)});
        let timestamp_file = signed("timestamp", *timestamp, "meta", content);
        let roots = (1..).zip(&self.roots);
        let roots = roots.map(|(version, root)| (format!("{version}.root.json"), root.clone()));
        let mut files: Files = roots.collect();
        files.extend([
            ("timestamp.json".to_owned(), timestamp_file),
            (format!("{snapshot}.snapshot.json"), snapshot_file),
            (format!("{targets}.targets.json"), targets_file),
            (
                format!("targets/{hash}.trusted_root.json"),
                trusted_root.as_bytes().to_vec(),
            ),
        ]);
        files
    }
}

/// Replaces what is in the folder.
pub fn write(files: &Files, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("targets")).unwrap();
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

/// A file of metadata.
pub fn enclose(signed: &Value, signers: &[&Key]) -> Vec<u8> {
    let content = canonical(signed);
    let signatures: Vec<Value> = signers.iter().map(|key| key.sign(&content)).collect();
    let file = json!({"signed": signed, "signatures": signatures});
    file.to_string().into_bytes()
}

fn pin(file: &[u8], version: u64) -> Value {
    json!({"version": version, "length": file.len(), "hashes": {"sha256": hex(file)}})
}

/// Sorted names, no blanks, and only `"` and `\` escaped.
fn canonical(value: &Value) -> Vec<u8> {
    let quoted = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"").into_bytes()
    };
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            [&b"["[..], &items.join(&b','), b"]"].concat()
        }
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            let field = |(name, value): (&String, &Value)| {
                [quoted(name), b":".to_vec(), canonical(value)].concat()
            };
            let fields: Vec<_> = fields.into_iter().map(field).collect();
            [&b"{"[..], &fields.join(&b','), b"}"].concat()
        }
        other => other.to_string().into_bytes(),
    }
}

/// Of its SHA-256.
fn hex(content: &[u8]) -> String {
    hex_of(digest(&SHA256, content).as_ref())
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
