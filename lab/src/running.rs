//! A running lab, for tests and commands: start it, use it, end it.

mod error;
mod supervisor_process;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use self::error::LabError;
use self::supervisor_process::SupervisorProcess;
use crate::command;
use crate::network::{REFERRERS, REGISTRY};
use crate::node::Node;
use crate::preflight;
use crate::progress::Event;
use crate::request::{Request, Response};
use crate::service::StopSignal;
use crate::signing::{Cosign, Sigstore};
use crate::spec::LabSpec;
use crate::ssh;
use crate::state::{RunningLab, State};

/// How long the end of a lab may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A running lab. Dropping one that [`Lab::up`] started ends it; dropping one that [`Lab::find`]
/// found does not.
#[derive(Debug)]
pub struct Lab {
    running: RunningLab,
    state: State,
    supervisor: Option<SupervisorProcess>,
}

impl Lab {
    /// Starts a lab. `listener` receives every event until the lab is ready.
    pub fn up(spec: &LabSpec, listener: impl FnMut(&Event)) -> Result<Self, LabError> {
        preflight::root()?;
        let (supervisor, ready) = SupervisorProcess::start(spec, listener)?;
        let running = ready.ok_or_else(|| supervisor_exited(&spec.state))?;
        Ok(Self {
            running,
            state: State::new(spec.state.clone()),
            supervisor: Some(supervisor),
        })
    }

    /// Fetches and builds every part that the lab needs, without starting anything.
    pub fn prepare(spec: &LabSpec, listener: impl FnMut(&Event)) -> Result<(), LabError> {
        preflight::root()?;
        let (mut supervisor, _) = SupervisorProcess::start(spec, listener)?;
        if supervisor.process.wait()?.success() {
            Ok(())
        } else {
            Err(supervisor_exited(&spec.state))
        }
    }

    /// Finds a lab that another process started.
    pub fn find(state: State) -> Result<Self, LabError> {
        Ok(Self {
            running: state.running()?,
            state,
            supervisor: None,
        })
    }

    /// Its addresses, files and nodes.
    pub fn running(&self) -> &RunningLab {
        &self.running
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn node(&self, name: &str) -> Result<Node<'_>, LabError> {
        let nodes = &self.running.nodes;
        match nodes.iter().find(|node| node.name == name) {
            Some(node) => Ok(Node::new(&self.state, &node.name)),
            None => Err(LabError::NoSuchNode {
                name: name.to_owned(),
                nodes: match nodes.len() {
                    0 => "none".to_owned(),
                    _ => nodes
                        .iter()
                        .map(|node| node.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                },
            }),
        }
    }

    /// The same as [`Lab::node`], but fails if the node cannot be reached now.
    pub fn reachable_node(&self, name: &str) -> Result<Node<'_>, LabError> {
        let node = self.node(name)?;
        if node.is_reachable() {
            Ok(node)
        } else {
            Err(LabError::NodeUnreachable(name.to_owned()))
        }
    }

    /// `kubectl` with this lab's configuration.
    pub fn kubectl(&self) -> Result<Command, LabError> {
        let (Some(program), Some(config)) = (&self.running.kubectl, &self.running.kubeconfig)
        else {
            return Err(LabError::NoKubernetes);
        };
        let mut kubectl = Command::new(program);
        kubectl.env("KUBECONFIG", config);
        Ok(kubectl)
    }

    /// Moves the calling thread, and every process it starts from now on, into the lab's network
    /// namespace, so that a measurement does not go through a port forward. Returns the addresses
    /// there of the registry and of the one with the referrers API.
    pub fn enter_network(&self) -> Result<[String; 2], LabError> {
        let namespace = File::open(format!("/proc/{}/ns/net", self.state.supervisor_pid()?))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)?;
        Ok([REGISTRY.to_string(), REFERRERS.to_string()])
    }

    /// The lab's private Sigstore; its keys are in the lab's state folder.
    pub fn sigstore(&self) -> Result<Sigstore, LabError> {
        let tools = self.running.tools.as_ref();
        let tools = tools.ok_or(LabError::NoTools("sigstore"))?;
        let folder = self.state.path("sigstore");
        Ok(Sigstore::open(&tools.sigstore, &folder)?)
    }

    /// Both editions of cosign; their files are in the lab's state folder.
    pub fn cosign(&self) -> Result<Cosign, LabError> {
        let tools = self.running.tools.as_ref();
        let programs = tools.and_then(|tools| tools.cosign.as_ref());
        let programs = programs.ok_or(LabError::NoTools("cosign"))?;
        Ok(Cosign::open(programs, &self.state.path("cosign"))?)
    }

    /// Stops one of the lab's services (`etcd`, `kube-apiserver`, …) and returns when its process
    /// is gone. Everything else in the lab goes on.
    pub fn stop_service(&self, name: &str, signal: StopSignal) -> Result<(), LabError> {
        let service = name.to_owned();
        self.request(&Request::Stop { service, signal })
    }

    /// Starts a service that has stopped, with the command it had before, and returns when it is
    /// ready.
    pub fn start_service(&self, name: &str) -> Result<(), LabError> {
        let service = name.to_owned();
        self.request(&Request::Start { service })
    }

    /// Ends a node's virtual machine as a power cut would. With [`Init::Systemd`](crate::Init) what it
    /// has written to its disk is there when [`Lab::start_service`] boots it again.
    pub fn cut_power(&self, node: &str) -> Result<(), LabError> {
        self.stop_service(node, StopSignal::Kill)?;
        // Nothing tells ssh that the other side is gone.
        ssh::close(&self.state, node);
        Ok(())
    }

    fn request(&self, request: &Request) -> Result<(), LabError> {
        let supervisor = self.supervisor.as_ref().ok_or(LabError::NotOwner)?;
        match supervisor.request(request)? {
            Some(Response::Done) => Ok(()),
            Some(Response::Refused { message }) => Err(LabError::Refused(message)),
            None => Err(self.ended()),
        }
    }

    /// Lets the lab outlive this process; from then on only [`Lab::down`] ends it.
    pub fn detach(mut self) -> Result<(), LabError> {
        if let Some(supervisor) = &self.supervisor {
            supervisor.send(&Request::Detach)?;
        }
        // Dropping it would wait for its end.
        std::mem::forget(self.supervisor.take());
        Ok(())
    }

    /// Waits until the lab has ended. Always an error: this process did not end it.
    pub fn wait(mut self) -> Result<(), LabError> {
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.process.wait()?;
        }
        Err(self.ended())
    }

    fn ended(&self) -> LabError {
        LabError::Ended {
            log: self.state.path("supervisor.log"),
        }
    }

    /// Ends a lab that any process started, ready or not, and waits until it is gone.
    pub fn down(state: &State) -> Result<(), LabError> {
        preflight::root()?;
        let pid = state.supervisor_pid()?;
        if let Some(supervisor) = Pid::from_raw(pid) {
            let _ = kill_process(supervisor, Signal::KILL);
        }
        // The first process of a PID namespace is gone only after all others in it are.
        let process = PathBuf::from(format!("/proc/{pid}"));
        let started = Instant::now();
        while process.exists() || state.is_locked() {
            if started.elapsed() > TIMEOUT {
                return Err(LabError::NotEnded(pid));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn supervisor_exited(state: &Path) -> LabError {
    let log = state.join("supervisor.log");
    let text = fs::read_to_string(&log).unwrap_or_default();
    LabError::SupervisorExited {
        output_tail: command::output_tail(&text),
        log,
    }
}
