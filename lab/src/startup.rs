//! Puts a lab's parts to work: registry, nodes, control plane, in the order that is fastest.
//!
//! The supervisor calls it once everything is there. Nothing here is undone on failure: the supervisor
//! ends, and what was started ends with it.

use std::fs;
use std::io;
use std::time::Duration;

use crate::cache::Cache;
use crate::control_plane::{self, ControlPlaneError};
use crate::network::{self, API, REGISTRY};
use crate::parts::Parts;
use crate::parts::kernel::Equipment;
use crate::pki::{Pki, PkiError};
use crate::progress::Reporter;
use crate::registry::{self, RegistryError};
use crate::seed::{self, NodeIdentity, REGISTRY_NAME, SeedError};
use crate::service::{Service, ServiceError};
use crate::spec::LabSpec;
use crate::ssh::{KeyError, Keys, Route};
use crate::state::{RunningLab, RunningNode, State};
use crate::vm::{self, VmError};

/// A node registers itself a while after it lets us in.
const NODE_TIMEOUT: Duration = Duration::from_secs(300);

/// Why a lab does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartupError {
    /// The keys for the nodes.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A node's seed.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The control plane.
    #[error(transparent)]
    ControlPlane(#[from] ControlPlaneError),
    /// A node.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// A node that does not join.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A file.
    #[error("cannot write the lab's state")]
    Io(#[from] io::Error),
}

/// Where a lab's forwards are on this machine's loopback.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The API server's.
    pub api: u16,
    /// The registry's.
    pub registry: u16,
    /// That of the registry with the referrers API, where there is one.
    pub referrers: Option<u16>,
}

/// A lab whose parts are all there and whose network is entered.
pub struct Startup<'a> {
    /// What is wanted.
    pub spec: &'a LabSpec,
    /// Where its state goes.
    pub state: &'a State,
    /// Where the keys for its nodes are kept.
    pub cache: &'a Cache,
    /// What it is put together from.
    pub parts: &'a Parts,
    /// Who hears of it.
    pub reporter: &'a Reporter,
}

impl Startup<'_> {
    /// Nodes are powered on first because they take longest; the control plane comes up meanwhile.
    pub fn start(&self, api_port: u16) -> Result<Vec<Service>, StartupError> {
        let Self {
            spec,
            state,
            parts,
            reporter,
            ..
        } = self;
        fs::create_dir_all(state.path("logs"))?;
        let pki = parts
            .binaries
            .is_some()
            .then(|| Pki::create(state.path("pki")))
            .transpose()?;
        let keys = Keys::make(self.cache, reporter)?;
        let nodes: Vec<_> = (1..=spec.node_count()).map(NodeIdentity::new).collect();
        let mut services = vec![reporter.step("filling the registry", || {
            registry::start(state, &parts.registry, &parts.stock)
        })?];
        if let Some(program) = &parts.referrers {
            services.push(reporter.step("filling the registry with referrers", || {
                registry::start_with_referrers(state, program, &parts.stock)
            })?);
        }
        let mut vms = self.power_on(&nodes, &keys, pki.as_ref())?;
        if let (Some(binaries), Some(pki)) = (&parts.binaries, &pki) {
            let outside = format!("https://127.0.0.1:{api_port}");
            services.extend(reporter.step("starting the control plane", || {
                control_plane::start(state, binaries, pki, &outside, parts.kwok.as_deref())
            })?);
        }
        for (node, vm) in nodes.iter().zip(&mut vms) {
            reporter.step(format!("booting {}", node.name), || {
                vm::await_login(state, node, &keys, self.route(), vm)
            })?;
            if pki.is_some() {
                reporter.step(format!("waiting for {} to be Ready", node.name), || {
                    self.await_ready(node, vm)
                })?;
            }
        }
        services.append(&mut vms);
        Ok(services)
    }

    fn route(&self) -> Route {
        match self.parts.node.as_ref().map(|node| node.kernel.equipment) {
            Some(Equipment::Bare) => Route::Line,
            Some(Equipment::Full) | None => Route::Network,
        }
    }

    fn power_on(
        &self,
        nodes: &[NodeIdentity],
        keys: &Keys,
        pki: Option<&Pki>,
    ) -> Result<Vec<Service>, StartupError> {
        let Some(parts) = &self.parts.node else {
            return Ok(Vec::new());
        };
        let addresses: Vec<_> = nodes.iter().map(|node| node.ip).collect();
        keys.write_known_hosts(self.state, &addresses)?;
        nodes
            .iter()
            .map(|node| {
                seed::write(
                    &self.state.path(&format!("{}.seed", node.name)),
                    node,
                    keys,
                    pki,
                )?;
                Ok(vm::start(self.state, node, parts, &self.spec.accelerator)?)
            })
            .collect()
    }

    fn await_ready(&self, node: &NodeIdentity, vm: &mut Service) -> Result<(), ServiceError> {
        let Some(binaries) = &self.parts.binaries else {
            return Ok(());
        };
        vm.wait_until(NODE_TIMEOUT, || {
            network::without_proxies(binaries.program("kubectl"))
                .arg("--kubeconfig")
                .arg(self.state.path("kubeconfig"))
                .args([
                    "--server",
                    &format!("https://{API}"),
                    "get",
                    "node",
                    &node.name,
                    "-o",
                ])
                .arg(r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#)
                .output()
                .is_ok_and(|output| output.stdout == b"True")
        })
    }

    /// The lab's account of itself.
    pub fn describe(&self, ports: &Ports) -> RunningLab {
        let Self {
            spec, state, parts, ..
        } = self;
        let kernel = parts
            .node
            .as_ref()
            .map(|node| node.kernel.release.to_string())
            .unwrap_or_default();
        RunningLab {
            name: spec.name.clone(),
            topology: spec.topology,
            kubeconfig: parts.binaries.as_ref().map(|_| state.path("kubeconfig")),
            kubectl: parts
                .binaries
                .as_ref()
                .map(|binaries| binaries.program("kubectl")),
            registry: format!("127.0.0.1:{}", ports.registry),
            referrers_registry: ports.referrers.map(|port| format!("127.0.0.1:{port}")),
            tools: parts.tools.clone(),
            registry_on_nodes: format!("{REGISTRY_NAME}:{}", REGISTRY.port()),
            nodes: (1..=spec.node_count())
                .map(NodeIdentity::new)
                .map(|node| RunningNode {
                    name: node.name,
                    ip: node.ip,
                    kernel: kernel.clone(),
                })
                .collect(),
        }
    }
}
