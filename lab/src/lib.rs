//! Real kernels and a real Kubernetes on one small machine.
//!
//! As a command (`lab up`, `lab exec`, …) it is for people; as a library ([`Lab`]) for
//! end-to-end tests. Both do the same: they write an [`Order`], start a keeper with it, and let
//! go of the keeper when they are done.
//!
//! Where to start reading: [`keeper`] is the table of contents of a lab coming up, [`parts`] that
//! of what it is put together from.

pub mod cache;
pub mod command;
pub mod control_plane;
pub mod counters;
pub mod crowd;
pub mod debian;
pub mod demand;
pub mod disk;
pub mod environment;
pub mod ground;
pub mod host;
pub mod keeper;
pub mod lockfile;
pub mod network;
pub mod node;
pub mod oci;
pub mod operator;
pub mod parts;
pub mod pki;
pub mod preflight;
pub mod progress;
pub mod registry;
mod running;
pub mod screen;
pub mod seed;
pub mod service;
pub mod signing;
pub mod site;
pub mod ssh;
pub mod state;
pub mod static_program;
pub mod vm;

pub use demand::Ending;
pub use ground::{Goal, Ground, Order, Scheduler};
pub use host::{Host, HostError};
pub use node::{Daemon, Node, NodeError, Said};
pub use progress::Event;
pub use running::{Lab, LabError};
pub use screen::Screen;
pub use state::{RunningLab, State};

/// An error and its causes as one sentence, the way a person reads it.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Transparent wrappers repeat the sentence of what they wrap.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
