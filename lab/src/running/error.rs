//! Why a lab cannot be started, found or used.

use std::io;
use std::path::PathBuf;

use crate::command::CommandError;
use crate::preflight::PreflightError;
use crate::signing::SigningError;
use crate::state::StateError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The supervisor's own message.
    #[error("{0}")]
    Failed(String),
    #[error("the lab's supervisor exited without a message: see {log}{output_tail}")]
    SupervisorExited { log: PathBuf, output_tail: String },
    #[error(transparent)]
    State(#[from] StateError),
    #[error("the lab has no node {name:?}: it has {nodes}")]
    NoSuchNode { name: String, nodes: String },
    #[error(
        "{0} cannot be reached: it may be booting or hanging, or its virtual machine has ended; `lab logs {0}` shows its console"
    )]
    NodeUnreachable(String),
    #[error(
        "the lab has no Kubernetes: start one with `--topology cluster` or `--topology control-plane`"
    )]
    NoKubernetes,
    #[error("the lab has no {0}: start one with `--signing {0}`")]
    NoTools(&'static str),
    #[error(transparent)]
    Signing(#[from] SigningError),
    #[error(
        "the lab was brought up by somebody else: only the process that started it can stop and start its services"
    )]
    NotOwner,
    /// The supervisor's reason for refusing a request.
    #[error("{0}")]
    Refused(String),
    #[error("the lab has ended: somebody ran `lab down`, or {log} has the reason")]
    Ended { log: PathBuf },
    #[error("the lab's supervisor, process {0}, does not end: end it with `kill -9 {0}`")]
    NotEnded(i32),
    #[error(transparent)]
    Log(#[from] CommandError),
    #[error("cannot start the lab's supervisor or write to it")]
    Supervisor(#[from] io::Error),
}
