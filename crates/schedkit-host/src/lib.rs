//! Reads what a scheduler depends on from this machine (kernel, BTF, capabilities, sched_ext), and
//! checks whether a scheduler can run on it.
//!
//! ```text
//! files under HostRoot ──readers──▶ HostSnapshot ──examine──▶ Vec<Finding>
//!          ▲                          plain data    preflight: pure
//!          │ sysfs
//! uevents ─┴─▶ Watch ──▶ KernelSchedExt, whenever it changed
//!   wake-up
//! ```
//!
//! Parsers take text and readers take a [`HostRoot`], so that a test can use a folder as a machine.
//! An absent, unreadable or malformed file is a value ([`Fact`]), not an error of the whole snapshot.
//! Nothing here writes to the machine or depends on containers or Kubernetes.

pub mod architecture;
pub mod btf;
pub mod capabilities;
pub mod command_line;
pub mod fact;
pub mod kconfig;
pub mod kernel;
pub mod lockdown;
pub mod other_managers;
pub mod other_runtimes;
pub mod preflight;
pub mod root_folder;
pub mod sched_ext;
mod small_file;
pub mod snapshot;
pub mod struct_ops;
pub mod tracefs;
pub mod uevent;
pub mod uevent_stream;
pub mod vmstat;
pub mod watch;

pub use architecture::Architecture;
pub use fact::Fact;
pub use root_folder::HostRoot;
pub use sched_ext::{KernelSchedExt, SchedExtState};
pub use snapshot::HostSnapshot;
pub use watch::{Watch, WatchIntervals};
