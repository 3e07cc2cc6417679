//! What this machine is, and whether a scheduler can run on it.
//!
//! ```text
//! files under HostRoot ──readers──▶ HostSnapshot ──examine──▶ Vec<Finding>
//!          ▲                          plain data    preflight: pure
//!          │ sysfs is the truth
//! uevents ─┴─▶ Watch ──▶ SchedExt, whenever it changed
//!   wake-up
//! ```
//!
//! Parsers take text, readers take a [`HostRoot`], so that any machine can be a folder of a test.
//! What is absent, unreadable or strange is a value ([`Fact`]), never an error of the whole.
//! Nothing here writes to the machine, and nothing knows of containers or of Kubernetes.

pub mod architecture;
pub mod btf;
pub mod capabilities;
pub mod command_line;
pub mod fact;
pub mod kconfig;
pub mod kernel;
pub mod lockdown;
pub mod preflight;
pub mod rivals;
pub mod root;
pub mod sched_ext;
mod small_file;
pub mod snapshot;
pub mod struct_ops;
pub mod uevent;
pub mod uevent_stream;
pub mod watch;

pub use architecture::Architecture;
pub use fact::Fact;
pub use root::HostRoot;
pub use sched_ext::{SchedExt, State};
pub use snapshot::HostSnapshot;
pub use watch::{Pace, Watch};
