//! A lab as its user holds it: brought up, used, and gone when dropped.

mod lifeline;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use self::lifeline::{Keeper, start_keeper};
use crate::command::{self, CommandError};
use crate::demand::{Answer, Demand, Ending};
use crate::ground::Order;
use crate::network::{REFERRERS, REGISTRY};
use crate::node::Node;
use crate::preflight::{self, PreflightError};
use crate::progress::Event;
use crate::signing::{Desk, SigningError};
use crate::state::{RunningLab, State, StateError};

/// How long the end of a lab may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running lab. Dropping one that was brought up here ends it; dropping one that was found
/// leaves it alone.
#[derive(Debug)]
pub struct Lab {
    running: RunningLab,
    state: State,
    keeper: Option<Keeper>,
}

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This machine cannot hold one.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// It failed on its way up; the sentence is the keeper's.
    #[error("{0}")]
    Failed(String),
    /// The keeper vanished without a word.
    #[error("the lab's keeper ended without a word: see {log}{last_words}")]
    Vanished {
        /// Its log.
        log: PathBuf,
        /// The end of it.
        last_words: String,
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
    #[error("the lab has no Kubernetes: bring one up with `--ground cluster` or `control-plane`")]
    NoKubernetes,
    /// It has no tools of signing.
    #[error("the lab has no cosign: bring one up with `--signing`")]
    NoTools,
    /// The desk.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Only whoever brought it up holds its lifeline.
    #[error("the lab was brought up by somebody else: only they can stop and start its services")]
    NotOurs,
    /// What was asked of the keeper was not done.
    #[error("{0}")]
    Refused(String),
    /// It was ended from elsewhere.
    #[error("the lab has ended: by `lab down`, or see {log}")]
    Ended {
        /// The keeper's log.
        log: PathBuf,
    },
    /// It does not end.
    #[error("the lab does not end: kill its keeper, process {0}, and try again")]
    StillThere(i32),
    /// The keeper's log cannot be written.
    #[error(transparent)]
    Log(#[from] CommandError),
    /// The keeper could not be started or spoken to.
    #[error("cannot start the lab's keeper")]
    Io(#[from] io::Error),
}

impl Lab {
    /// Brings a lab up. `listener` hears of every step.
    pub fn up(order: &Order, listener: impl FnMut(&Event)) -> Result<Self, LabError> {
        preflight::root()?;
        let (keeper, ready) = start_keeper(order, listener)?;
        let running = ready.ok_or_else(|| vanished(&order.state))?;
        Ok(Self {
            running,
            state: State::new(order.state.clone()),
            keeper: Some(keeper),
        })
    }

    /// Makes every part that the order needs, without starting anything.
    pub fn prepare(order: &Order, listener: impl FnMut(&Event)) -> Result<(), LabError> {
        preflight::root()?;
        let (mut keeper, _) = start_keeper(order, listener)?;
        if keeper.process.wait()?.success() {
            Ok(())
        } else {
            Err(vanished(&order.state))
        }
    }

    /// Finds a lab that somebody else brought up.
    pub fn find(state: State) -> Result<Self, LabError> {
        Ok(Self {
            running: state.running()?,
            state,
            keeper: None,
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
    /// that a measurement has no door in its way. Returns the addresses in there of the registry
    /// and of the one with the referrers API.
    pub fn enter_network(&self) -> Result<[String; 2], LabError> {
        let namespace = File::open(format!("/proc/{}/ns/net", self.state.keeper_pid()?))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)?;
        Ok([REGISTRY.to_string(), REFERRERS.to_string()])
    }

    /// A desk with this lab's tools of signing, in its state folder.
    pub fn desk(&self) -> Result<Desk, LabError> {
        let tools = self.running.tools.as_ref().ok_or(LabError::NoTools)?;
        Ok(Desk::open(tools, &self.state.path("desk"))?)
    }

    /// Ends one of the lab's services (`etcd`, `kube-apiserver`, …) and returns when its process is
    /// gone. The lab lives on without it.
    pub fn stop_service(&self, name: &str, ending: Ending) -> Result<(), LabError> {
        let service = name.to_owned();
        self.demand(&Demand::Stop { service, ending })
    }

    /// Starts a service that has ended the way it was started first, and returns when it is ready.
    pub fn start_service(&self, name: &str) -> Result<(), LabError> {
        let service = name.to_owned();
        self.demand(&Demand::Start { service })
    }

    fn demand(&self, demand: &Demand) -> Result<(), LabError> {
        let keeper = self.keeper.as_ref().ok_or(LabError::NotOurs)?;
        match keeper.ask(demand)? {
            Some(Answer::Done) => Ok(()),
            Some(Answer::Refused { sentence }) => Err(LabError::Refused(sentence)),
            None => Err(LabError::Ended {
                log: self.state.path("keeper.log"),
            }),
        }
    }

    /// Lets the lab outlive this process; from then on only [`Lab::down`] ends it.
    pub fn detach(mut self) -> Result<(), LabError> {
        if let Some(keeper) = &self.keeper {
            keeper.say(&Demand::Detach)?;
        }
        // Dropped later, the keeper would be waited for.
        std::mem::forget(self.keeper.take());
        Ok(())
    }

    /// Waits for the end of the lab, which nobody here asks for: it is always an error.
    pub fn wait(mut self) -> Result<(), LabError> {
        if let Some(keeper) = &mut self.keeper {
            keeper.process.wait()?;
        }
        Err(LabError::Ended {
            log: self.state.path("keeper.log"),
        })
    }

    /// Ends a lab, whoever brought it up and however far it got, and waits until it is gone.
    pub fn down(state: &State) -> Result<(), LabError> {
        preflight::root()?;
        // The folder's lock is held, so the number is that of the keeper.
        let pid = state.keeper_pid()?;
        if let Some(keeper) = Pid::from_raw(pid) {
            let _ = kill_process(keeper, Signal::KILL);
        }
        // The kernel lets go of the first process of a namespace after all others in it are dead.
        let process = PathBuf::from(format!("/proc/{pid}"));
        let begin = Instant::now();
        while process.exists() || state.is_held() {
            if begin.elapsed() > PATIENCE {
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
    let log = state.join("keeper.log");
    let text = fs::read_to_string(&log).unwrap_or_default();
    LabError::Vanished {
        last_words: command::last_words(&text),
        log,
    }
}
