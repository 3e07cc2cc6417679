//! Runs cosign without this user's home folder, proxies and Sigstore's public services: what it
//! would fetch from them is passed as files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::authority::Authority;
use super::key::KeyPair;
use super::request::SigningError;
use super::signer::{Match, Signer};
use super::tools::{CosignPrograms, Edition, Form};
use crate::command::{self, CommandError};
use crate::network;

/// A trusted root and a signing configuration without any service: with these cosign 3 signs and
/// verifies by key alone.
const EMPTY_ROOT: &str =
    r#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;
const EMPTY_CONFIG: &str = r#"{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json","rekorTlogConfig":{},"tsaConfig":{}}"#;

/// Both editions of cosign, with a folder for their files.
#[derive(Clone, Debug)]
pub struct Cosign {
    programs: CosignPrograms,
    folder: PathBuf,
}

/// cosign's verdict on an image, with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Standard output.
    Accepted(String),
    /// Standard error.
    Refused(String),
}

impl Verdict {
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Accepted(text) | Self::Refused(text) => text,
        }
    }
}

impl Cosign {
    /// Uses a folder of its own, and creates it.
    pub fn open(programs: &CosignPrograms, folder: &Path) -> Result<Self, SigningError> {
        fs::create_dir_all(folder)?;
        let cosign = Self {
            programs: programs.clone(),
            folder: std::path::absolute(folder)?,
        };
        fs::write(cosign.empty_root(), EMPTY_ROOT)?;
        fs::write(cosign.empty_config(), EMPTY_CONFIG)?;
        Ok(cosign)
    }

    /// A trusted root without any authority, for `cosign verify --key`.
    pub fn empty_root(&self) -> PathBuf {
        self.folder.join("empty_root.json")
    }

    fn empty_config(&self) -> PathBuf {
        self.folder.join("empty_config.json")
    }

    /// The private key in cosign's own format, with an empty password. Imported once.
    fn import(&self, key: &KeyPair) -> Result<PathBuf, SigningError> {
        let prefix = key.public_key.with_file_name("cosign");
        let imported = prefix.with_extension("key");
        if !imported.exists() {
            let pem = key.public_key.with_file_name("private.pem");
            let mut import = self.command(Edition::V3);
            import.args(["import-key-pair", "--yes", "--key"]).arg(pem);
            command::read(import.arg("--output-key-prefix").arg(&prefix))?;
        }
        Ok(imported)
    }

    /// Signs a reference (`host:port/name@sha256:…`) by key and pushes the signature to its registry.
    /// `more` are further arguments for cosign, such as `--recursive`.
    pub fn sign(
        &self,
        edition: Edition,
        form: Form,
        key: &KeyPair,
        reference: &str,
        more: &[&str],
    ) -> Result<(), SigningError> {
        let mut cosign = self.command(edition);
        cosign
            .args(["sign", "--yes", "--key"])
            .arg(self.import(key)?);
        match form {
            Form::Bundle => {
                if edition == Edition::V2 {
                    cosign.arg("--new-bundle-format");
                }
                cosign
                    .arg("--signing-config")
                    .arg(self.empty_config())
                    .arg("--trusted-root")
                    .arg(self.empty_root());
            }
            Form::SigTag => {
                if edition == Edition::V3 {
                    cosign.args(["--new-bundle-format=false", "--use-signing-config=false"]);
                }
                cosign.arg("--tlog-upload=false");
            }
        }
        command::read(cosign.args(more).arg(reference))?;
        Ok(())
    }

    /// Verifies a reference with the public key in this file.
    pub fn verify(
        &self,
        edition: Edition,
        public_key: &Path,
        reference: &str,
    ) -> Result<Verdict, SigningError> {
        verdict_of(&mut self.verify_command(edition, public_key, reference))
    }

    /// The same as a command, for measurements.
    pub fn verify_command(&self, edition: Edition, public_key: &Path, reference: &str) -> Command {
        let mut cosign = self.command(edition);
        cosign
            .args(["verify", "--insecure-ignore-tlog=true", "--key"])
            .arg(public_key)
            .arg("--trusted-root")
            .arg(self.empty_root())
            .arg(reference);
        cosign
    }

    /// Verifies a keyless signature of a reference against a private Sigstore.
    pub fn verify_keyless(
        &self,
        edition: Edition,
        authority: &Authority,
        signer: &Signer,
        reference: &str,
    ) -> Result<Verdict, SigningError> {
        verdict_of(&mut self.verify_keyless_command(edition, authority, signer, reference))
    }

    /// The same as a command, for measurements and further arguments.
    pub fn verify_keyless_command(
        &self,
        edition: Edition,
        authority: &Authority,
        signer: &Signer,
        reference: &str,
    ) -> Command {
        let mut cosign = self.command(edition);
        cosign
            // Without `--offline` cosign would look up missing entries in the public log.
            .args(["verify", "--offline=true", "--trusted-root"])
            .arg(authority.trusted_root());
        for (flag, wanted) in [
            ("--certificate-identity", &signer.identity),
            ("--certificate-oidc-issuer", &signer.issuer),
        ] {
            match wanted {
                Match::Exact(text) => cosign.arg(flag).arg(text),
                Match::Regexp(text) => cosign.arg(format!("{flag}-regexp")).arg(text),
            };
        }
        cosign.arg(reference);
        cosign
    }

    /// cosign without this user's settings.
    pub fn command(&self, edition: Edition) -> Command {
        let mut cosign = network::without_proxies(self.programs.of(edition));
        cosign
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("DOCKER_CONFIG", &self.folder)
            .env("TUF_ROOT", self.folder.join("tuf"))
            .env("COSIGN_PASSWORD", "");
        cosign
    }
}

/// Runs a `cosign verify` command; its exit status is the verdict.
pub fn verdict_of(cosign: &mut Command) -> Result<Verdict, SigningError> {
    let output = cosign
        .stdin(Stdio::null())
        .output()
        .map_err(|source| CommandError::Start {
            program: cosign.get_program().to_string_lossy().into_owned(),
            source,
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(if output.status.success() {
        Verdict::Accepted(text(&output.stdout))
    } else {
        Verdict::Refused(text(&output.stderr))
    })
}
