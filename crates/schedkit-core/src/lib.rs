//! Value types that all other crates share: image references, digests, kernel releases, scheduler
//! names, exit reasons and check results.
//!
//! Nothing here reads a file, the environment or a clock. A value of these types has been parsed, so
//! callers need not check it again.

pub mod digest;
pub mod exit_reason;
pub mod finding;
pub mod image_ref;
pub mod kernel_release;
pub mod ops_name;
pub mod sanitize;

pub use digest::Digest;
pub use exit_reason::{ExitReason, LoadFailure, SchedulerExit, meaningful_lines};
pub use finding::{CheckStatus, Finding, Severity, Summary};
pub use image_ref::{ImageRef, PinnedRef, RegistryHost, Repository, Tag};
pub use kernel_release::KernelRelease;
pub use ops_name::{OpsName, SchedulerName};
