//! One lab with two registries for all tests of this program, and both judges.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lab::oci::{Registry, Subject};
use lab::signing::{Authority, Cosign};
use lab::{Lab, LabSpec};
use serde_json::Value;

/// A lab with registries, a desk to sign at, and a Sigstore.
pub(crate) struct Ground {
    lab: Lab,
    pub(crate) desk: Cosign,
    pub(crate) authority: Authority,
}

/// What `schedctl verify -o json` said.
#[derive(Debug)]
pub(crate) struct Ours {
    pub(crate) code: i32,
    pub(crate) said: Value,
    pub(crate) complaint: String,
}

pub(crate) fn ground() -> &'static Ground {
    static GROUND: OnceLock<Ground> = OnceLock::new();
    GROUND.get_or_init(|| {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.lab");
        let order = LabSpec {
            signing: true,
            nodes: 0,
            schedulers: Vec::new(),
            ..LabSpec::new("test-trust", lab::Topology::Registry, &labs)
        };
        let lab = Lab::up(&order, |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let tools = lab.running().tools.as_ref().expect("tools were ordered");
        let desk = Cosign::open(tools, &lab.state().path("cosign")).unwrap();
        let authority = desk.create_authority("sigstore").unwrap();
        let ground = Ground {
            lab,
            desk,
            authority,
        };
        ground.write("config.toml", &ground.config());
        ground
    })
}

impl Ground {
    /// Debian's registry, then the one with the referrers API.
    pub(crate) fn registries(&self) -> [Registry; 2] {
        let running = self.lab.running();
        let referrers = running.referrers_registry.as_ref();
        [
            Registry::new(&running.registry),
            Registry::new(referrers.expect("the ground has it")),
        ]
    }

    /// Both are plain HTTP, which has to be said.
    fn config(&self) -> String {
        self.registries()
            .map(|registry| {
                format!(
                    "[registry.\"{}\"]\nsecurity = \"plain-http\"\n",
                    registry.address()
                )
            })
            .concat()
    }

    /// Writes a file into the lab's folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.lab.state().path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A policy of that name and text.
    pub(crate) fn policy(&self, name: &str, text: &str) -> PathBuf {
        self.write(&format!("{name}.policy.yaml"), text)
    }

    /// A policy that trusts one key.
    pub(crate) fn key_policy(&self, name: &str, key: &Path) -> PathBuf {
        self.policy(name, &format!("keys:\n  - path: {}\n", key.display()))
    }

    /// A policy that trusts whoever the lab's Sigstore vouches for under these lines.
    pub(crate) fn identity_policy(&self, name: &str, lines: &[(&str, &str)]) -> PathBuf {
        let lines = lines
            .iter()
            .map(|(key, value)| format!("{key}: '{value}'"))
            .collect::<Vec<_>>()
            .join("\n    ");
        let root = self.authority.trusted_root().display();
        self.policy(
            name,
            &format!("identities:\n  - {lines}\ntrustedRoot: {root}\n"),
        )
    }

    /// Asks our own program.
    pub(crate) fn ours(&self, policy: &Path, reference: &str) -> Ours {
        let output = Command::new(env!("CARGO_BIN_EXE_schedctl"))
            .env_clear()
            .arg("--config")
            .arg(self.lab.state().path("config.toml"))
            .args(["verify", "-o", "json", "--trust-policy"])
            .arg(policy)
            .arg(reference)
            .output()
            .unwrap();
        Ours {
            code: output.status.code().unwrap_or(-1),
            said: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            complaint: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ours {
    /// Accepted or refused; trouble is neither and fails the test.
    pub(crate) fn accepts(&self) -> bool {
        match (self.code, self.said["verdict"].as_str()) {
            (0, Some("accepted")) => true,
            (3, Some("refused")) => false,
            _ => panic!("{self:#?}"),
        }
    }

    /// Why each candidate was refused, one reason a line.
    pub(crate) fn reasons(&self) -> String {
        let candidates = self.said["candidates"].as_array();
        let reasons = candidates.into_iter().flatten();
        reasons
            .filter_map(|candidate| candidate["reason"].as_str())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// `host:port/repository@digest`.
pub(crate) fn reference(registry: &Registry, repository: &str, subject: &Subject) -> String {
    format!("{}/{repository}@{}", registry.address(), subject.digest)
}
