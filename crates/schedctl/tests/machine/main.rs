//! schedctl on a machine with a real sched_ext kernel, a real podman and a real containerd: one
//! virtual machine for all of it, one test at a time on it.
//!
//! A file a subject. A test takes its turn with [`ground::machine`], which first clears away what
//! the one before left. What takes longer than a change should wait for is behind the feature `long`:
//! every fault, every bad input, every moment to be killed (`make test-long`).

#![cfg(test)]

mod attach;
#[cfg(feature = "long")]
mod bad_input;
mod boot;
mod events;
#[cfg(feature = "long")]
mod faults;
mod ground;
#[cfg(feature = "long")]
mod killed;
mod lookup;
mod run;
#[path = "../shared/schema.rs"]
mod schema;
mod status;
mod switch;
mod transcript;
mod trial;
mod verify;
