//! Two registries, one without and one with the referrers API, the lab's Sigstore, and
//! `schedctl verify` against them. No test changes what another one pushed: each has repositories
//! of its own, so nothing is cleaned up.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lab::oci::{Registry, Subject};
use lab::signing::{Authority, Cosign, IDENTITY, ISSUER, Sigstore};
use lab::{Lab, LabSpec, Signing, Topology};
use serde_json::Value;

use crate::machine::fail;
use crate::program;
use crate::program::labs;

pub struct Registries {
    lab: Lab,
    pub sigstore: Sigstore,
    pub authority: Authority,
}

/// What `schedctl verify -o json` printed.
#[derive(Debug)]
pub struct Verification {
    pub code: i32,
    pub document: Value,
    pub stderr: String,
}

/// The registries of this suite, without cosign.
pub fn registries() -> &'static Registries {
    static REGISTRIES: OnceLock<Registries> = OnceLock::new();
    REGISTRIES.get_or_init(|| Registries::up("e2e-registries", Signing::Sigstore))
}

/// The registries of a suite that asks cosign, too; cosign takes a quarter of an hour to build.
pub fn registries_with_cosign() -> &'static Registries {
    static REGISTRIES: OnceLock<Registries> = OnceLock::new();
    REGISTRIES.get_or_init(|| Registries::up("e2e-signatures", Signing::Cosign))
}

impl Registries {
    pub fn up(name: &str, signing: Signing) -> Self {
        let spec = LabSpec {
            signing,
            nodes: 0,
            schedulers: Vec::new(),
            ..LabSpec::new(name, Topology::Registry, &labs())
        };
        let lab = Lab::up(&spec, |_| {}).unwrap_or_else(fail);
        let sigstore = lab.sigstore().unwrap_or_else(fail);
        let authority = sigstore.create_authority("authority").unwrap_or_else(fail);
        let registries = Self {
            lab,
            sigstore,
            authority,
        };
        registries.write("config.toml", &registries.config());
        registries
    }

    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    pub fn cosign(&self) -> Cosign {
        self.lab.cosign().unwrap_or_else(fail)
    }

    /// Debian's registry, which has no referrers API.
    pub fn plain(&self) -> Registry {
        Registry::new(&self.lab.running().registry)
    }

    pub fn with_referrers(&self) -> Registry {
        let address = self.lab.running().referrers_registry.as_ref();
        Registry::new(address.expect("the topology has it"))
    }

    pub fn both(&self) -> [Registry; 2] {
        [self.plain(), self.with_referrers()]
    }

    /// Both are plain HTTP, which schedctl accepts only when it is configured.
    fn config(&self) -> String {
        let section = |registry: Registry| {
            let address = registry.address().to_owned();
            format!("[registry.\"{address}\"]\nsecurity = \"plain-http\"\n")
        };
        self.both().map(section).concat()
    }

    /// Writes a file into the lab's state folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.lab.state().path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A trust policy of this name and text.
    pub fn policy(&self, name: &str, text: &str) -> PathBuf {
        self.write(&format!("{name}.policy.yaml"), text)
    }

    /// A policy that trusts one key.
    pub fn key_policy(&self, name: &str, key: &Path) -> PathBuf {
        self.policy(name, &format!("keys:\n  - path: {}\n", key.display()))
    }

    /// A policy that trusts whoever the lab's Sigstore vouches for under these lines.
    pub fn identity_policy(&self, name: &str, lines: &[(&str, &str)]) -> PathBuf {
        let lines = lines.iter().map(|(key, value)| format!("{key}: '{value}'"));
        let lines = lines.collect::<Vec<_>>().join("\n    ");
        let root = self.authority.trusted_root().display();
        let text = format!("identities:\n  - {lines}\ntrustedRoot: {root}\n");
        self.policy(name, &text)
    }

    /// A policy that trusts the identity that signs unless a test names another.
    pub fn default_identity_policy(&self, name: &str) -> PathBuf {
        self.identity_policy(name, &[("issuer", ISSUER), ("subject", IDENTITY)])
    }

    /// Runs `schedctl verify`.
    pub fn verify(&self, policy: &Path, reference: &str) -> Verification {
        let output = Command::new(program::schedctl())
            .env_clear()
            .arg("--config")
            .arg(self.lab.state().path("config.toml"))
            .args(["verify", "-o", "json", "--trust-policy"])
            .arg(policy)
            .arg(reference)
            .output()
            .unwrap();
        Verification {
            code: output.status.code().unwrap_or(-1),
            document: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Verification {
    /// Accepted or refused; an error is neither and fails the test.
    #[track_caller]
    pub fn accepts(&self) -> bool {
        match (self.code, self.document["verdict"].as_str()) {
            (0, Some("accepted")) => true,
            (3, Some("refused")) => false,
            _ => panic!("{self:#?}"),
        }
    }

    /// Why each signature was refused, one reason a line.
    pub fn reasons(&self) -> String {
        let candidates = self.document["candidates"].as_array();
        let reasons = candidates.into_iter().flatten();
        let reasons = reasons.filter_map(|candidate| candidate["reason"].as_str());
        reasons.collect::<Vec<_>>().join("\n")
    }
}

/// `host:port/repository@digest`.
pub fn reference(registry: &Registry, repository: &str, subject: &Subject) -> String {
    format!("{}/{repository}@{}", registry.address(), subject.digest)
}
