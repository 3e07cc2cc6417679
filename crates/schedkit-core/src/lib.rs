//! Words of the trade: plain values that every other crate speaks in.
//!
//! Nothing here reads a file, the environment or a clock. A value of these types has been
//! parsed, so whoever holds one need not doubt it again.

pub mod digest;
pub mod exit_reason;
pub mod finding;
pub mod foreign;
pub mod image_ref;
pub mod kernel_release;
pub mod ops_name;

pub use digest::Digest;
pub use exit_reason::{ExitReason, LastWords, LoadFailure};
pub use finding::{Finding, Severity, Status, Summary};
pub use image_ref::{ImageRef, PinnedRef, RegistryHost, Repository, Tag};
pub use kernel_release::KernelRelease;
pub use ops_name::{OpsName, SchedulerName};
