//! One node of a running lab: commands, files, background jobs, daemons and its kernel log.
//!
//! Everything goes through the ssh connection that the supervisor holds open.

mod access;
mod command_output;
mod error;
mod job;
mod kernel_log;

pub use access::{Daemon, Node};
pub use command_output::CommandOutput;
pub use error::NodeError;
pub use job::Job;
pub use kernel_log::KernelLine;
