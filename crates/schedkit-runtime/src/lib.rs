//! Runs trusted images as schedulers, through Podman or containerd.
//!
//! ```text
//! Trusted ─▶ Launch ─create─▶ created ─start─▶ running ──▶ exited
//!                                │                │           │
//!                                └───── end (keep or remove) ─┘
//! ```
//!
//! A [`Driver`] runs containers and reports their state. It does not decide what should run and does
//! not read the kernel's state: a running container is not yet an attached scheduler. Everything that
//! a later command must know about a container is in its labels ([`record`]), which are believed only if
//! the container is ours ([`ownership`]).

pub mod container;
pub mod containerd;
pub mod driver;
pub mod image_store;
pub mod launch;
mod mounts;
pub mod ownership;
pub mod podman;
pub mod record;
mod stop_signal;

pub use container::{Container, ContainerId, ContainerState, ExitCode};
pub use containerd::Containerd;
pub use driver::{
    After, Driver, DriverError, ImageInStore, OutputChunk, OutputStream, PullProgress, Pulled,
    TimedOutput, Until,
};
pub use image_store::{ImageEntry, ImageOwner, ImageStore};
pub use launch::{Launch, LaunchError};
pub use ownership::Ownership;
pub use podman::Podman;
pub use record::{Record, Trust};
