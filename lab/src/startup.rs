//! Starts a lab's processes from its parts: registries, nodes, control plane.
//!
//! The supervisor calls it once all parts are there. Nothing is undone on failure: the supervisor
//! exits, and the kernel ends what was started.

use std::fs;
use std::io;
use std::time::Duration;

use crate::cache::Cache;
use crate::control_plane::{self, ControlPlaneError};
use crate::network::{self, API, REGISTRY};
use crate::node_config::{self, NodeConfigError, NodeIdentity, REGISTRY_NAME};
use crate::parts::Parts;
use crate::parts::kernel::Modules;
use crate::pki::{Pki, PkiError};
use crate::progress::Reporter;
use crate::registry::{self, RegistryError};
use crate::service::{Service, ServiceError};
use crate::spec::LabSpec;
use crate::ssh::{KeyError, Keys, Route};
use crate::state::{RunningLab, RunningNode, State};
use crate::vm::{self, VmError};

/// A node becomes Ready in Kubernetes a while after ssh reaches it.
const NODE_READY_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Debug, thiserror::Error)]
pub enum StartupError {
    #[error(transparent)]
    Keys(#[from] KeyError),
    #[error(transparent)]
    Pki(#[from] PkiError),
    #[error(transparent)]
    ConfigArchive(#[from] NodeConfigError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    ControlPlane(#[from] ControlPlaneError),
    #[error(transparent)]
    Vm(#[from] VmError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("cannot write the lab's state: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// Ports on this machine's loopback that lead into the lab.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub api: u16,
    pub registry: u16,
    /// Of the registry with the referrers API, if there is one.
    pub referrers: Option<u16>,
}

/// What the start needs. The calling thread must have entered the lab's network namespace.
pub struct Startup<'a> {
    pub spec: &'a LabSpec,
    pub state: &'a State,
    /// Where the ssh keys for the nodes are kept.
    pub cache: &'a Cache,
    pub parts: &'a Parts,
    pub reporter: &'a Reporter,
}

impl Startup<'_> {
    /// Starts everything and waits until it is ready. The nodes boot first because they take
    /// longest; the control plane starts meanwhile.
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
            .kube
            .is_some()
            .then(|| Pki::create(state.path("pki")))
            .transpose()?;
        let keys = Keys::create(self.cache, reporter)?;
        let nodes: Vec<_> = (1..=spec.node_count()).map(NodeIdentity::new).collect();
        let mut services = self.start_registries()?;
        let mut vms = self.start_vms(&nodes, &keys, pki.as_ref())?;
        if let (Some(kube), Some(pki)) = (&parts.kube, &pki) {
            let outside = format!("https://127.0.0.1:{api_port}");
            services.extend(reporter.step("starting the control plane", || {
                control_plane::start(state, kube, pki, &outside, parts.kwok.as_deref())
            })?);
        }
        for (node, vm) in nodes.iter().zip(&mut vms) {
            reporter.step(format!("booting {}", node.name), || {
                vm::wait_for_ssh(state, node, &keys, self.route(), vm)
            })?;
            if pki.is_some() {
                reporter.step(format!("waiting for {} to be Ready", node.name), || {
                    self.wait_for_node_ready(node, vm)
                })?;
            }
        }
        services.append(&mut vms);
        Ok(services)
    }

    fn start_registries(&self) -> Result<Vec<Service>, StartupError> {
        let Self {
            state,
            parts,
            reporter,
            ..
        } = self;
        let mut services = vec![reporter.step("filling the registry", || {
            registry::start(state, &parts.registry, &parts.images)
        })?];
        if let Some(program) = &parts.referrers {
            services.push(
                reporter.step("filling the registry with the referrers API", || {
                    registry::start_with_referrers(state, program, &parts.images)
                })?,
            );
        }
        Ok(services)
    }

    fn route(&self) -> Route {
        match self.parts.node.as_ref().map(|node| node.kernel.modules) {
            Some(Modules::Missing) => Route::SerialLine,
            Some(Modules::Included) | None => Route::Network,
        }
    }

    fn start_vms(
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
                let config = self.state.path(&format!("{}.config", node.name));
                node_config::write(&config, node, keys, self.spec.init, pki)?;
                Ok(vm::start(self.state, node, parts, self.spec)?)
            })
            .collect()
    }

    fn wait_for_node_ready(
        &self,
        node: &NodeIdentity,
        vm: &mut Service,
    ) -> Result<(), ServiceError> {
        let Some(kube) = &self.parts.kube else {
            return Ok(());
        };
        vm.wait_until(NODE_READY_TIMEOUT, || {
            network::without_proxies(kube.program("kubectl"))
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

    /// What `lab.json` says about the lab.
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
            kubeconfig: parts.kube.as_ref().map(|_| state.path("kubeconfig")),
            kubectl: parts.kube.as_ref().map(|kube| kube.program("kubectl")),
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
