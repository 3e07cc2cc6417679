//! The `sigstore` program of `lab/sigstore`: key pairs, signatures by key, authorities.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::authority::Authority;
use super::key::{Algorithm, GeneratedKey, Hash, KeyPair, Scheme, Signed, statement};
use super::request::{self, SigningError};
use crate::oci::{Artifact, Registry, Subject};

/// The program, and a folder for the keys that it generates.
#[derive(Clone, Debug)]
pub struct Sigstore {
    program: PathBuf,
    folder: PathBuf,
}

/// What Go's `regexp` package makes of a pattern and a text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RegexpResult {
    /// Whether the pattern is valid.
    pub valid: bool,
    /// Whether the pattern matches anywhere in the text.
    pub matches: bool,
    /// Why the pattern is invalid.
    pub error: String,
}

impl Sigstore {
    /// Uses a folder of its own, and creates it.
    pub fn open(program: &Path, folder: &Path) -> Result<Self, SigningError> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            program: program.to_owned(),
            folder: std::path::absolute(folder)?,
        })
    }

    /// Creates an authority with its own trusted root in a subfolder of this name.
    pub fn create_authority(&self, name: &str) -> Result<Authority, SigningError> {
        Authority::create(&self.program, &self.folder.join(name))
    }

    /// Generates a key pair in a subfolder of this name.
    pub fn key_pair(&self, name: &str, algorithm: Algorithm) -> Result<KeyPair, SigningError> {
        let mut generated: Vec<GeneratedKey> =
            request::run(&self.program, &["keys", algorithm.name()], &())?;
        let Some(GeneratedKey {
            algorithm,
            private,
            public,
        }) = generated.pop()
        else {
            return Err(SigningError::Failed {
                args: format!("keys {}", algorithm.name()),
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

    /// Signs exactly these bytes by key, without a registry and without a log.
    pub fn sign_bytes(
        &self,
        key: &KeyPair,
        how: (Hash, Scheme),
        simple: &str,
        statement: &str,
    ) -> Result<Signed, SigningError> {
        let input = key.sign_input(how, simple, statement);
        request::run(&self.program, &["sign"], &input)
    }

    /// Signs an image in a registry by key and attaches the bundle, as `cosign sign --key` of
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

    /// Matches (pattern, text) pairs with Go's `regexp` package, which cosign uses.
    pub fn regexps(&self, pairs: &[(&str, &str)]) -> Result<Vec<RegexpResult>, SigningError> {
        let pairs = pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|(pattern, text)| json!({"pattern": pattern, "text": text}))
            .collect();
        request::run(&self.program, &["regexps"], &pairs)
    }
}
