//! A machine on which schedctl stands ready as an administrator would leave it: the static
//! program, its settings, a trust policy with the lab's own key, a catalog, and images in the
//! registry that this key signed.
//!
//! For schedctl's tests, measurements and transcripts. It needs nobody outside the lab.
//!
//! ```text
//! /usr/local/bin/schedctl
//! /etc/schedctl/config.toml     catalog, trust policy, the registry (plain HTTP)
//! /etc/schedctl/trust.yaml      the key below, nobody else
//! /etc/schedctl/keys/lab.pem
//! /etc/schedctl/catalog.json    scx_lab, and scx_bpfland where the registry holds it
//! ```
//!
//! A fault of scx_lab is chosen by argument (`schedctl run scx_lab -- --fault stall --timeout 2s`)
//! or by tag (`scx_lab:stall`); see `lab/schedulers/scx_lab/src/args.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::node::{CommandOutput, Daemon, Node, NodeError};
use crate::oci::{PushError, Registry, Subject};
use crate::running::{Lab, LabError};
use crate::signing::{Algorithm, KeyPair, SigningError, Sigstore};
use crate::spec::{LabSpec, Scheduler, Signing};
use crate::topology::Topology;

const NODE: &str = "node1";
/// The repositories that are signed and put into the catalog, as far as the registry has them.
const SCHEDULERS: [&str; 2] = ["scx_lab", "scx_bpfland"];
/// A machine with schedctl. Dropping it ends its lab.
#[derive(Debug)]
pub struct SchedctlHost {
    lab: Lab,
    sigstore: Sigstore,
    key: KeyPair,
    schedulers: Vec<&'static str>,
}

/// Why there is no such machine.
#[derive(Debug, thiserror::Error)]
pub enum SchedctlHostError {
    /// The lab.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The node.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] PushError),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

impl SchedctlHost {
    /// What such a machine is made from. `labs` is the folder that holds the state of all labs.
    pub fn spec(name: &str, labs: &Path) -> LabSpec {
        LabSpec {
            schedulers: vec![Scheduler::ScxLab],
            signing: Signing::Sigstore,
            ..LabSpec::new(name, Topology::Machine, labs)
        }
    }

    /// Signs what a lab's registry holds, and readies its first node. `program` is a static
    /// schedctl; see [`crate::static_program`].
    pub fn set_up(lab: Lab, program: &Path) -> Result<Self, SchedctlHostError> {
        let sigstore = lab.sigstore()?;
        let key = sigstore.key_pair("lab", Algorithm::EcdsaP256)?;
        let mut host = Self {
            lab,
            sigstore,
            key,
            schedulers: Vec::new(),
        };
        for repository in SCHEDULERS {
            if !host.registry().tags(repository)?.is_empty() {
                host.sign_all(repository)?;
                host.schedulers.push(repository);
            }
        }
        let node = host.node()?;
        node.put(program, "/usr/local/bin/schedctl", 0o755)?;
        for (path, text) in [
            ("config.toml", host.settings().as_str()),
            (
                "trust.yaml",
                "keys:\n  - path: /etc/schedctl/keys/lab.pem\n",
            ),
            ("keys/lab.pem", &host.key.public),
            ("catalog.json", &host.catalog()),
        ] {
            node.write(&format!("/etc/schedctl/{path}"), text.as_bytes(), 0o644)?;
        }
        for daemon in Daemon::ALL {
            node.start(daemon)?;
        }
        Ok(host)
    }

    /// Its lab.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The machine itself.
    pub fn node(&self) -> Result<Node<'_>, LabError> {
        self.lab.node(NODE)
    }

    /// The registry as this side reaches it: to push further images.
    pub fn registry(&self) -> Registry {
        Registry::new(&self.lab.running().registry)
    }

    /// `repository:tag` as the machine says it.
    pub fn reference(&self, image: &str) -> String {
        format!("{}/{image}", self.lab.running().registry_on_nodes)
    }

    /// Runs schedctl there to its end.
    pub fn schedctl(&self, words: &[&str]) -> Result<CommandOutput, SchedctlHostError> {
        let words = [&["schedctl"], words].concat();
        Ok(self.node()?.run(&words).map_err(NodeError::from)?)
    }

    /// Signs every image of a repository by the key that the machine trusts. An index is signed
    /// itself, as the project's own are, and its images are not.
    pub fn sign_all(&self, repository: &str) -> Result<(), SchedctlHostError> {
        let registry = self.registry();
        let mut signed = BTreeSet::new();
        // Signatures hang at tags of their own, `sha256-…`.
        let tags = registry.tags(repository)?.into_iter();
        for tag in tags.filter(|tag| !tag.starts_with("sha256-")) {
            if let Some(found) = registry.manifest(repository, &tag)? {
                let subject = Subject::from(&found);
                if signed.insert(subject.digest.clone()) {
                    self.sigstore
                        .sign(&self.key, &registry, repository, &subject)?;
                }
            }
        }
        Ok(())
    }

    fn settings(&self) -> String {
        format!(
            "catalog = \"/etc/schedctl/catalog.json\"\n\
             trust-policy = \"/etc/schedctl/trust.yaml\"\n\n\
             [registry.\"{}\"]\nsecurity = \"plain-http\"\n",
            self.lab.running().registry_on_nodes
        )
    }

    fn catalog(&self) -> String {
        let entry = |name: &str| {
            let image = json!({"imageURI": self.reference(name)});
            (name.to_owned(), image)
        };
        let names: Map<_, _> = self.schedulers.iter().copied().map(entry).collect();
        Value::Object(names).to_string()
    }
}
