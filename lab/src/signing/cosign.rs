//! Where a test signs and verifies with the programs that users have. They run without proxies,
//! without a home and without Sigstore's public services: whatever they would fetch is given.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::authority::Authority;
use super::key::KeyPair;
use super::request::SigningError;
use super::{CosignPrograms, Edition, Form, Match, Signer};
use crate::command::{self, CommandError};
use crate::network;

/// Trusts nobody, and asks nobody: with these cosign 3 signs and verifies by key alone.
const EMPTY_ROOT: &str =
    r#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;
const EMPTY_CONFIG: &str = r#"{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json","rekorTlogConfig":{},"tsaConfig":{}}"#;

/// Both editions of cosign, and a folder for their files.
#[derive(Clone, Debug)]
pub struct Cosign {
    programs: CosignPrograms,
    folder: PathBuf,
}

/// What cosign says of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is signed as asked for; what cosign printed.
    Accepted(String),
    /// It is not; cosign's words on standard error.
    Refused(String),
}

impl Verdict {
    /// Whether it was accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// What cosign had to say.
    pub fn text(&self) -> &str {
        match self {
            Self::Accepted(words) | Self::Refused(words) => words,
        }
    }
}

impl Cosign {
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

    /// A trusted root that vouches for nobody: what `cosign verify --key` is given.
    pub fn empty_root(&self) -> PathBuf {
        self.folder.join("empty_root.json")
    }

    fn empty_config(&self) -> PathBuf {
        self.folder.join("empty_config.json")
    }

    /// The private key in cosign's own form, with an empty password. Imported once.
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

    /// Signs a reference (`host:port/name@sha256:…`) by key and leaves the signature in its
    /// registry. `more` are further words for cosign, such as `--recursive`.
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

    /// Asks cosign whether a reference is signed by the key in this file.
    pub fn verify(
        &self,
        edition: Edition,
        public_key: &Path,
        reference: &str,
    ) -> Result<Verdict, SigningError> {
        verdict_of(&mut self.verify_command(edition, public_key, reference))
    }

    /// The same as a command, for whoever measures it.
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

    /// Asks cosign whether a reference is signed by somebody for whom a Sigstore vouches.
    pub fn verify_keyless(
        &self,
        edition: Edition,
        authority: &Authority,
        signer: &Signer,
        reference: &str,
    ) -> Result<Verdict, SigningError> {
        verdict_of(&mut self.verify_keyless_command(edition, authority, signer, reference))
    }

    /// The same as a command, for whoever measures it or has more to say.
    pub fn verify_keyless_command(
        &self,
        edition: Edition,
        authority: &Authority,
        signer: &Signer,
        reference: &str,
    ) -> Command {
        let mut cosign = self.command(edition);
        cosign
            // Without it cosign would ask the public log about entries that it does not find.
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

    /// cosign with nothing of this machine's user in it.
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

/// Runs cosign and takes its exit status for its verdict.
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
