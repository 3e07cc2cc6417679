//! A lab as its user holds it: brought up, used, and gone when dropped.

mod supervisor_process;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use self::supervisor_process::{Supervisor, start_supervisor};
use crate::command::{self, CommandError};
use crate::network::{REFERRERS, REGISTRY};
use crate::node::Node;
use crate::preflight::{self, PreflightError};
use crate::progress::Event;
use crate::request::{Request, Response};
use crate::service::StopSignal;
use crate::signing::{Cosign, SigningError, Sigstore};
use crate::spec::LabSpec;
use crate::state::{RunningLab, State, StateError};

/// How long the end of a lab may take before something is wrong.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A running lab. Dropping one that was brought up here ends it; dropping one that was found
/// leaves it alone.
#[derive(Debug)]
pub struct Lab {
    running: RunningLab,
    state: State,
    supervisor: Option<Supervisor>,
}

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This machine cannot hold one.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// It failed on its way up; the message is the supervisor's.
    #[error("{0}")]
    Failed(String),
    /// The supervisor vanished without a word.
    #[error("the lab's supervisor ended without a word: see {log}{output_tail}")]
    Vanished {
        /// Its log.
        log: PathBuf,
        /// The end of it.
        output_tail: String,
    },
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// No such node.
    #[error("the lab has no node {name:?}: it has {nodes}")]
    NoSuchNode {
        /// What was asked for.
        name: String,
        /// What there is.
        nodes: String,
    },
    /// The node is there and does not answer.
    #[error(
        "{0} does not answer: it may be booting, hanging or gone; `lab logs {0}` shows its console"
    )]
    Silent(String),
    /// It has no Kubernetes.
    #[error("the lab has no Kubernetes: bring one up with `--topology cluster` or `control-plane`")]
    NoKubernetes,
    #[error("the lab has no {0}: bring one up with `--signing {0}`")]
    NoTools(&'static str),
    /// The desk.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Only whoever brought it up holds its control pipe.
    #[error("the lab was brought up by somebody else: only they can stop and start its services")]
    NotOurs,
    /// What was asked of the supervisor was not done.
    #[error("{0}")]
    Refused(String),
    /// It was ended from elsewhere.
    #[error("the lab has ended: by `lab down`, or see {log}")]
    Ended {
        /// The supervisor's log.
        log: PathBuf,
    },
    /// It does not end.
    #[error("the lab does not end: kill its supervisor, process {0}, and try again")]
    StillThere(i32),
    /// The supervisor's log cannot be written.
    #[error(transparent)]
    Log(#[from] CommandError),
    /// The supervisor could not be started or spoken to.
    #[error("cannot start the lab's supervisor")]
    Io(#[from] io::Error),
}

impl Lab {
    /// Brings a lab up. `listener` hears of every step.
    pub fn up(spec: &LabSpec, listener: impl FnMut(&Event)) -> Result<Self, LabError> {
        preflight::root()?;
        let (supervisor, ready) = start_supervisor(spec, listener)?;
        let running = ready.ok_or_else(|| vanished(&spec.state))?;
        Ok(Self {
            running,
            state: State::new(spec.state.clone()),
            supervisor: Some(supervisor),
        })
    }

    /// Makes every part that the order needs, without starting anything.
    pub fn prepare(spec: &LabSpec, listener: impl FnMut(&Event)) -> Result<(), LabError> {
        preflight::root()?;
        let (mut supervisor, _) = start_supervisor(spec, listener)?;
        if supervisor.process.wait()?.success() {
            Ok(())
        } else {
            Err(vanished(&spec.state))
        }
    }

    /// Finds a lab that somebody else brought up.
    pub fn find(state: State) -> Result<Self, LabError> {
        Ok(Self {
            running: state.running()?,
            state,
            supervisor: None,
        })
    }

    /// What runs and where.
    pub fn running(&self) -> &RunningLab {
        &self.running
    }

    /// The folder of its state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// One of its nodes.
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

    /// `kubectl` with this lab's configuration; never another one's.
    pub fn kubectl(&self) -> Result<Command, LabError> {
        let (Some(program), Some(config)) = (&self.running.kubectl, &self.running.kubeconfig)
        else {
            return Err(LabError::NoKubernetes);
        };
        let mut kubectl = Command::new(program);
        kubectl.env("KUBECONFIG", config);
        Ok(kubectl)
    }

    /// Moves the calling thread, and whatever it starts from now on, into the lab's network, so
    /// that a measurement has no forward in its way. Returns the addresses in there of the registry
    /// and of the one with the referrers API.
    pub fn enter_network(&self) -> Result<[String; 2], LabError> {
        let namespace = File::open(format!("/proc/{}/ns/net", self.state.supervisor_pid()?))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)?;
        Ok([REGISTRY.to_string(), REFERRERS.to_string()])
    }

    /// This lab's own Sigstore; its keys are in the lab's state folder.
    pub fn sigstore(&self) -> Result<Sigstore, LabError> {
        let tools = self.running.tools.as_ref();
        let tools = tools.ok_or(LabError::NoTools("sigstore"))?;
        Ok(Sigstore::open(
            &tools.sigstore,
            &self.state.path("sigstore"),
        )?)
    }

    /// Both editions of cosign; their files are in the lab's state folder.
    pub fn cosign(&self) -> Result<Cosign, LabError> {
        let tools = self.running.tools.as_ref();
        let programs = tools.and_then(|tools| tools.cosign.as_ref());
        let programs = programs.ok_or(LabError::NoTools("cosign"))?;
        Ok(Cosign::open(programs, &self.state.path("cosign"))?)
    }

    /// Ends one of the lab's services (`etcd`, `kube-apiserver`, …) and returns when its process is
    /// gone. The lab lives on without it.
    pub fn stop_service(&self, name: &str, signal: StopSignal) -> Result<(), LabError> {
        let service = name.to_owned();
        self.request(&Request::Stop { service, signal })
    }

    /// Starts a service that has ended the way it was started first, and returns when it is ready.
    pub fn start_service(&self, name: &str) -> Result<(), LabError> {
        let service = name.to_owned();
        self.request(&Request::Start { service })
    }

    fn request(&self, request: &Request) -> Result<(), LabError> {
        let supervisor = self.supervisor.as_ref().ok_or(LabError::NotOurs)?;
        match supervisor.ask(request)? {
            Some(Response::Done) => Ok(()),
            Some(Response::Refused { message }) => Err(LabError::Refused(message)),
            None => Err(LabError::Ended {
                log: self.state.path("supervisor.log"),
            }),
        }
    }

    /// Lets the lab outlive this process; from then on only [`Lab::down`] ends it.
    pub fn detach(mut self) -> Result<(), LabError> {
        if let Some(supervisor) = &self.supervisor {
            supervisor.say(&Request::Detach)?;
        }
        // Dropped later, the supervisor would be waited for.
        std::mem::forget(self.supervisor.take());
        Ok(())
    }

    /// Waits for the end of the lab, which nobody here asks for: it is always an error.
    pub fn wait(mut self) -> Result<(), LabError> {
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.process.wait()?;
        }
        Err(LabError::Ended {
            log: self.state.path("supervisor.log"),
        })
    }

    /// Ends a lab, whoever brought it up and however far it got, and waits until it is gone.
    pub fn down(state: &State) -> Result<(), LabError> {
        preflight::root()?;
        // The folder's lock is held, so the number is that of the supervisor.
        let pid = state.supervisor_pid()?;
        if let Some(supervisor) = Pid::from_raw(pid) {
            let _ = kill_process(supervisor, Signal::KILL);
        }
        // The kernel lets go of the first process of a namespace after all others in it are dead.
        let process = PathBuf::from(format!("/proc/{pid}"));
        let begin = Instant::now();
        while process.exists() || state.is_held() {
            if begin.elapsed() > TIMEOUT {
                return Err(LabError::StillThere(pid));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Node<'_> {
    /// The node itself, if it answers now.
    pub fn answering(self) -> Result<Self, LabError> {
        if self.answers() {
            Ok(self)
        } else {
            Err(LabError::Silent(self.name().to_owned()))
        }
    }
}

fn vanished(state: &Path) -> LabError {
    let log = state.join("supervisor.log");
    let text = fs::read_to_string(&log).unwrap_or_default();
    LabError::Vanished {
        output_tail: command::output_tail(&text),
        log,
    }
}
