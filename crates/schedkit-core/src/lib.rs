//! Words of the trade: plain values that every other crate speaks in.
//!
//! Nothing here reads a file, the environment or a clock. A value of these types has been
//! parsed, so whoever holds one need not doubt it again.

pub mod kernel_release;

pub use kernel_release::KernelRelease;
