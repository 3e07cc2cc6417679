//! The process that holds a lab together: the first of its own process namespace, so that the
//! kernel ends everything it started the moment it ends itself, however that happens.
//!
//! ```text
//!   lab up ──stdin (order, then the lifeline)──▶ unshare ─▶ keeper ─┬─ builds, apt, …
//!      ◀──stdout (events)────────────────────────────────           ├─ etcd, API server, …, registry
//!                                                                   └─ QEMU and ssh, one each a node
//! ```
//!
//! The lifeline is the pipe that the order came through. Whoever asked for the lab holds its
//! other end; when that process is gone, by `kill -9` or otherwise, the pipe ends and so does the
//! keeper. `detach` on the lifeline cuts this tie once the lab is ready.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::cache::Cache;
use crate::command::{self, CommandError};
use crate::control_plane::{self, ControlPlaneError};
use crate::ground::{Goal, Order};
use crate::network::{self, API, Door, NetworkError, REGISTRY};
use crate::parts::{self, PartError, Parts};
use crate::pki::{Pki, PkiError};
use crate::progress::{Event, Reporter};
use crate::registry::{self, RegistryError};
use crate::seed::{self, NodeIdentity, REGISTRY_NAME, SeedError};
use crate::service::{Service, ServiceError};
use crate::ssh::{KeyError, Keys};
use crate::state::{RunningLab, RunningNode, State, StateError};
use crate::vm::{self, VmError};

/// What cuts the tie between a ready lab and the command that started it.
pub const DETACH: &str = "detach";

/// A node registers itself a while after it lets us in.
const NODE_PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The order could not be read.
    #[error("the keeper got no order it understands: it is started by `lab up`, not by hand")]
    Order(#[source] io::Error),
    /// The private namespace is incomplete.
    #[error("cannot set up a private process namespace")]
    Namespace(#[from] CommandError),
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// A part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The network.
    #[error(transparent)]
    Network(#[from] NetworkError),
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

/// Reads the order from standard input, makes the lab, and keeps it until the lifeline ends.
pub fn keep() -> Result<(), KeeperError> {
    let reporter = Reporter::new(io::stdout());
    match bring_up(&reporter) {
        Ok(Some(services)) => watch(services),
        Ok(None) => Ok(()),
        Err(error) => {
            let sentence = crate::sentence(&error);
            reporter.send(&Event::Failed { sentence });
            Err(error)
        }
    }
}

/// The steps of `lab up`, in order. The lock is held for as long as the process lives.
fn bring_up(reporter: &Reporter) -> Result<Option<Vec<Service>>, KeeperError> {
    let mut input = BufReader::new(io::stdin());
    let order = read_order(&mut input)?;
    follow_lifeline(input);
    let keeper_pid = enter_process_namespace()?;
    let cache = Cache::new(order.cache.clone());
    if order.goal == Goal::Prepared {
        parts::gather(&cache, &order, reporter)?;
        return Ok(None);
    }
    let state = State::new(order.state.clone());
    // Held until the process ends: dropping it would say that nothing runs here any more.
    std::mem::forget(state.take(keeper_pid)?);
    let doors = Doors::open(&order)?;
    let parts = parts::gather(&cache, &order, reporter)?;
    let ports = (doors.api.port(), doors.registry.port());
    network::enter(order.node_count())?;
    doors.lead_inside();
    let site = Site {
        order: &order,
        state: &state,
        cache: &cache,
        parts: &parts,
        reporter,
    };
    let services = site.start(ports.0)?;
    let lab = site.describe(ports.1);
    state.publish(&lab)?;
    reporter.send(&Event::Ready { lab: Box::new(lab) });
    Ok(Some(services))
}

/// Everything that starting the lab's processes needs to know.
struct Site<'a> {
    order: &'a Order,
    state: &'a State,
    cache: &'a Cache,
    parts: &'a Parts,
    reporter: &'a Reporter,
}

impl Site<'_> {
    /// Nodes are powered on first because they take longest; the control plane comes up meanwhile.
    fn start(&self, api_port: u16) -> Result<Vec<Service>, KeeperError> {
        let Self {
            order,
            state,
            parts,
            reporter,
            ..
        } = self;
        fs::create_dir_all(state.path("logs"))?;
        let pki = parts
            .binaries
            .is_some()
            .then(|| Pki::make(state.path("pki")))
            .transpose()?;
        let keys = Keys::make(self.cache, reporter)?;
        let nodes: Vec<_> = (1..=order.node_count()).map(NodeIdentity::new).collect();
        let mut services = vec![reporter.step("filling the registry", || {
            registry::start(state, &parts.registry, &parts.stock)
        })?];
        let mut vms = self.power_on(&nodes, &keys, pki.as_ref())?;
        if let (Some(binaries), Some(pki)) = (&parts.binaries, &pki) {
            let outside = format!("https://127.0.0.1:{api_port}");
            services.extend(reporter.step("starting the control plane", || {
                control_plane::start(state, binaries, pki, &outside)
            })?);
        }
        for (node, vm) in nodes.iter().zip(&mut vms) {
            reporter.step(format!("booting {}", node.name), || {
                vm::await_login(state, node, &keys, vm)
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

    fn power_on(
        &self,
        nodes: &[NodeIdentity],
        keys: &Keys,
        pki: Option<&Pki>,
    ) -> Result<Vec<Service>, KeeperError> {
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
                Ok(vm::start(self.state, node, parts, &self.order.accelerator)?)
            })
            .collect()
    }

    fn await_ready(&self, node: &NodeIdentity, vm: &mut Service) -> Result<(), ServiceError> {
        let Some(binaries) = &self.parts.binaries else {
            return Ok(());
        };
        vm.wait_until(NODE_PATIENCE, || {
            network::insider(binaries.program("kubectl"))
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

    fn describe(&self, registry_port: u16) -> RunningLab {
        let Self {
            order,
            state,
            parts,
            ..
        } = self;
        let kernel = parts
            .node
            .as_ref()
            .map(|node| node.kernel.release.to_string())
            .unwrap_or_default();
        RunningLab {
            name: order.name.clone(),
            ground: order.ground,
            kubeconfig: parts.binaries.as_ref().map(|_| state.path("kubeconfig")),
            kubectl: parts
                .binaries
                .as_ref()
                .map(|binaries| binaries.program("kubectl")),
            registry: format!("127.0.0.1:{registry_port}"),
            registry_on_nodes: format!("{REGISTRY_NAME}:{}", REGISTRY.port()),
            nodes: (1..=order.node_count())
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

/// The ways in from this machine's loopback, opened before anything slow begins.
struct Doors {
    api: Door,
    registry: Door,
}

impl Doors {
    fn open(order: &Order) -> Result<Self, NetworkError> {
        Ok(Self {
            api: Door::open(order.api_port)?,
            registry: Door::open(order.registry_port)?,
        })
    }

    fn lead_inside(self) {
        self.api.lead_to(API);
        self.registry.lead_to(REGISTRY);
    }
}

fn read_order(input: &mut impl BufRead) -> Result<Order, KeeperError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(KeeperError::Order)?;
    serde_json::from_str(&line).map_err(|error| KeeperError::Order(error.into()))
}

/// Ends this process, and with it the whole lab, when the lifeline ends.
fn follow_lifeline(input: impl BufRead + Send + 'static) {
    std::thread::spawn(move || {
        let tied = !input
            .lines()
            .map_while(Result::ok)
            .any(|line| line == DETACH);
        if tied {
            end();
        }
    });
}

#[expect(
    clippy::exit,
    reason = "no thread may outlive the lifeline, least of all one that waits for a build"
)]
fn end() -> ! {
    std::process::exit(0)
}

/// Gives this process's number as the whole machine sees it, then makes `/proc` show just the
/// lab's own processes, as its programs expect.
fn enter_process_namespace() -> Result<i32, KeeperError> {
    let outside: PathBuf = fs::read_link("/proc/self")?;
    let pid = outside
        .to_string_lossy()
        .parse()
        .map_err(io::Error::other)?;
    command::read(Command::new("mount").args(["-t", "proc", "proc", "/proc"]))?;
    Ok(pid)
}

/// Notes when something that should run has ended. It is not started again: a lab that mends
/// itself would hide what a test is there to find.
fn watch(mut services: Vec<Service>) -> Result<(), KeeperError> {
    loop {
        services.retain_mut(|service| match service.ended() {
            Some(status) => {
                let _ = writeln!(io::stderr(), "{} ended with {status}", service.name());
                false
            }
            None => true,
        });
        std::thread::sleep(Duration::from_millis(500));
    }
}
