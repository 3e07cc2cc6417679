//! The `sigstore` program of `lab/sigstore`: key pairs, signatures by key, authorities.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::authority::Authority;
use super::key::{Algorithm, Hash, KeyPair, MadeKey, Scheme, Signed, statement};
use super::request::{SigningError, ask};
use crate::oci::{Artifact, Registry, Subject};

/// The program, and a folder for the keys that it makes.
#[derive(Clone, Debug)]
pub struct Sigstore {
    program: PathBuf,
    folder: PathBuf,
}

/// What Go makes of a regexp and a text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RegexpResult {
    /// Whether it is a regexp at all.
    pub valid: bool,
    /// Whether it matches anywhere in the text.
    pub matches: bool,
    /// Why it is none.
    pub error: String,
}

impl Sigstore {
    pub fn open(program: &Path, folder: &Path) -> Result<Self, SigningError> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            program: program.to_owned(),
            folder: std::path::absolute(folder)?,
        })
    }

    /// Creates an authority of this name, with a trusted root of its own.
    pub fn create_authority(&self, name: &str) -> Result<Authority, SigningError> {
        Authority::create(&self.program, &self.folder.join(name))
    }

    /// Makes a key pair of this name.
    pub fn key_pair(&self, name: &str, algorithm: Algorithm) -> Result<KeyPair, SigningError> {
        let mut made: Vec<MadeKey> = ask(&self.program, &["keys", algorithm.name()], &())?;
        let Some(MadeKey {
            algorithm,
            private,
            public,
        }) = made.pop()
        else {
            return Err(SigningError::Refused {
                verb: format!("make a key for {}", algorithm.name()),
                output_tail: String::new(),
            });
        };
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let public_key = folder.join("public.pem");
        fs::write(folder.join("private.pem"), &private)?;
        fs::write(&public_key, &public)?;
        Ok(KeyPair {
            algorithm,
            private,
            public,
            public_key,
        })
    }

    /// Signs exactly these bytes by key, outside any registry and any log.
    pub fn sign_bytes(
        &self,
        key: &KeyPair,
        how: (Hash, Scheme),
        simple: &str,
        statement: &str,
    ) -> Result<Signed, SigningError> {
        let request = key.question(how, simple, statement);
        ask(&self.program, &["sign"], &request)
    }

    /// Signs what is in a registry by key and attaches the bundle, as `cosign sign --key` of
    /// version 3 does without a log.
    pub fn sign(
        &self,
        key: &KeyPair,
        registry: &Registry,
        repository: &str,
        subject: &Subject,
    ) -> Result<Artifact, SigningError> {
        let how = (Hash::default(), Scheme::default());
        let signed = self.sign_bytes(key, how, "", &statement(&subject.digest))?;
        Ok(registry.attach_bundle(repository, subject, &signed.bundle)?)
    }

    /// What Go makes of (pattern, text) pairs.
    pub fn regexps(&self, pairs: &[(&str, &str)]) -> Result<Vec<RegexpResult>, SigningError> {
        let pairs = pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|(pattern, text)| json!({"pattern": pattern, "text": text}))
            .collect();
        ask(&self.program, &["regexps"], &pairs)
    }
}
