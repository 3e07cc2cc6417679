//! Runs trusted images as schedulers, through Podman or containerd.
//!
//! ```text
//! Trusted ─▶ Launch ─create─▶ created ─start─▶ running ──▶ exited
//!                                │                │           │
//!                                └───── end (keep or remove) ─┘
//! ```
//!
//! A [`Driver`] does what it is told and tells what it sees. It never decides what should run,
//! and it knows nothing of the kernel: a container that runs is not yet a scheduler that is
//! attached. Everything about a container that a later run must know is in its labels
//! ([`record`]): nothing is kept elsewhere.

pub mod container;
pub mod containerd;
pub mod driver;
pub mod launch;
mod mounts;
pub mod podman;
pub mod record;

pub use container::{Container, ContainerId, ExitCode, State};
pub use containerd::Containerd;
pub use driver::{After, Driver, DriverError, Piece, Progress, Pulled, Stream, Until};
pub use launch::{Launch, LaunchError};
pub use podman::Podman;
pub use record::{Record, Trust};
