//! What runs: schedctl's containers compared with the kernel's state. Pure: `cmd/status.rs`
//! observes, this module assesses, `output/status.rs` prints.
//!
//! ```text
//!  kernel ╲ live containers │ none                   one                          several
//!  ─────────────────────────┼─────────────────────────────────────────────────────────────────
//!  no sched_ext             │ idle                   managed-detached             multiple-managed
//!  disabled                 │ idle                   managed-detached             multiple-managed
//!  in transition            │ orphaned-kernel-state  managed-detached             multiple-managed
//!  enabled                  │ orphaned-kernel-state  running | managed-mismatch   multiple-managed
//!  unreadable               │ ──────────────────── no assessment ──────────────────────────────
//! ```
//!
//! A container is live if its scheduler was started. One that was only created, or has exited, is a
//! leftover: a warning, never a status. Containers of sked are added afterwards, in [`cluster`].

mod assess;
mod assessment;
mod cluster;
mod kernel_state;
mod messages;
mod names;

pub(crate) use assess::{assess, process_to_inspect};
pub(crate) use assessment::{Assessment, Status};
pub(crate) use cluster::{attached_pod, include_sked};
pub(crate) use kernel_state::UnknownKernelState;
