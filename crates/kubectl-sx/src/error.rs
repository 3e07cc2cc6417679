//! Why a command failed: one sentence with cause and remedy.

use std::path::PathBuf;

use sked::snapshot::{ClientError, ReadError, Unread};
use sked_plan::ObjectKey;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
    #[error("cannot print the result")]
    Print(#[source] std::io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(
        "the CRD schedexts.sked.schedkit.io is not installed in this cluster: install sked, or choose \
         another cluster with --context"
    )]
    NotInstalled,
    #[error(
        "you have no right to {verb} {resource} {place}: ask an administrator for it; \
         docs/kubectl-sx.md lists the rights of each command ({message})"
    )]
    Forbidden {
        verb: &'static str,
        resource: &'static str,
        place: String,
        message: String,
    },
    #[error(
        "{0}: ask an administrator for this right; docs/kubectl-sx.md lists those of each command"
    )]
    Unread(Unread),
    #[error("cannot {verb} {what}")]
    Api {
        verb: &'static str,
        what: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the API server rejects it: {0}")]
    Rejected(String),
    #[error("there is no SchedExt {key}: {known}")]
    NoSchedExt { key: ObjectKey, known: String },
    #[error(
        "the SchedExt {key} cannot be read by this version of kubectl-sx: {message}; install one of sked's version"
    )]
    Unreadable { key: ObjectKey, message: String },
    #[error("there is no node {name}: see kubectl get nodes")]
    NoNode { name: String },
    #[error("the SchedExt {0} was changed meanwhile: look at it, and run the command again")]
    Conflict(ObjectKey),
    #[error(
        "nothing can be undone: the status of {0} has no other revision that every node ran; see rollout history"
    )]
    NothingToUndo(ObjectKey),
    #[error("the status of {key} has no revision {revision}: it has {known}")]
    NoRevision {
        key: ObjectKey,
        revision: String,
        known: String,
    },
    #[error("the manager did not carry out {request}: {why}")]
    Refused { request: String, why: String },
    #[error("another request replaced {0} before the manager read it: run the command again")]
    Replaced(String),
    #[error(
        "the manager has not read {request} within {seconds} s: check that it runs (kubectl get pods -n \
         {namespace}); the request stays, and is carried out when it does"
    )]
    NoAnswer {
        request: String,
        seconds: u64,
        namespace: String,
    },
    #[error("the node {node} is in no quarantine of a SchedExt: {known}")]
    NotQuarantined { node: String, known: String },
    #[error(
        "several SchedExts have the node {node} in quarantine ({names}): choose one with --schedext and -n"
    )]
    SeveralQuarantines { node: String, names: String },
    #[error("the roll-out of {key} was not complete within {seconds} s: {state}")]
    Timeout {
        key: ObjectKey,
        seconds: u64,
        state: String,
    },
    #[error("cannot read {}", file.display())]
    File {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} cannot be parsed", file.display())]
    Yaml {
        file: PathBuf,
        #[source]
        source: Box<serde_saphyr::Error>,
    },
    #[error("{}: document {document} is {found}, not a SchedExt of sked.schedkit.io/v1: give a file that has only SchedExts", file.display())]
    OtherKind {
        file: PathBuf,
        document: usize,
        found: String,
    },
    #[error("{}: document {document} is no valid SchedExt: {message}", file.display())]
    InvalidSchedExt {
        file: PathBuf,
        document: usize,
        message: String,
    },
    #[error("{}: it has no SchedExt", file.display())]
    NoDocument { file: PathBuf },
    #[error(
        "sked would not do this, because its own check fails ({0}); this is a bug in sked: please report it"
    )]
    Violation(String),
}
