//! A machine with schedctl installed as an administrator would: the static program, its
//! configuration, a trust policy with the lab's own key, a catalog, and images in the registry that
//! this key signed. For schedctl's tests, measurements and transcripts; it needs no network.
//!
//! ```text
//! /usr/local/bin/schedctl
//! /etc/schedctl/config.toml     catalog, trust policy, the registry (plain HTTP)
//! /etc/schedctl/trust.yaml      trusts the key below and no other
//! /etc/schedctl/keys/lab.pem
//! /etc/schedctl/catalog.json    scx_lab, and the others that the registry holds
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
/// The repositories that are signed and put into the catalog if the registry holds them.
const SCHEDULERS: [&str; 4] = ["scx_lab", "scx_bpfland", "scx_lavd", "scx_rusty"];

/// Dropping it ends its lab.
#[derive(Debug)]
pub struct SchedctlHost {
    lab: Lab,
    sigstore: Sigstore,
    key: KeyPair,
    schedulers: Vec<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum SchedctlHostError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Registry(#[from] PushError),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

impl SchedctlHost {
    /// The lab that such a machine needs. `labs` is the folder that holds the state of all labs.
    pub fn spec(name: &str, labs: &Path) -> LabSpec {
        LabSpec {
            schedulers: vec![Scheduler::ScxLab],
            signing: Signing::Sigstore,
            ..LabSpec::new(name, Topology::Machine, labs)
        }
    }

    /// Signs the images in the lab's registry and installs schedctl on its first node. `program` is
    /// a static schedctl; see [`crate::static_program`].
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
            ("config.toml", host.config().as_str()),
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

    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    pub fn node(&self) -> Result<Node<'_>, LabError> {
        self.lab.node(NODE)
    }

    /// The registry by its address on this machine, to push further images.
    pub fn registry(&self) -> Registry {
        Registry::new(&self.lab.running().registry)
    }

    /// The reference of `repository:tag` on the machine.
    pub fn reference(&self, image: &str) -> String {
        format!("{}/{image}", self.lab.running().registry_on_nodes)
    }

    /// Runs schedctl there to its end.
    pub fn schedctl(&self, args: &[&str]) -> Result<CommandOutput, SchedctlHostError> {
        let args = [&["schedctl"], args].concat();
        Ok(self.node()?.run(&args).map_err(NodeError::from)?)
    }

    /// Signs every tag of a repository with the key that the machine trusts. Of an index, the index
    /// is signed and its images are not, as in the project's own releases.
    pub fn sign_all(&self, repository: &str) -> Result<(), SchedctlHostError> {
        let registry = self.registry();
        let mut signed = BTreeSet::new();
        // Signatures have tags of their own, `sha256-…`.
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

    fn config(&self) -> String {
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
