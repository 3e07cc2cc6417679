//! Names and offsets of the memory that the loader shares with the BPF program.
//!
//! The same offsets as in `bpf/shared.h`, where assertions check them.

use std::ops::Range;

use crate::{
    ops_name::FIELD_LEN,
    request::{BpfFault, Fault, Rejection},
};

/// The map of `struct sched_ext_ops`.
pub(crate) const OPS: &str = "lab_ops";
/// The map of `struct lab_order`.
pub(crate) const ORDER: &str = ".rodata.order";
/// The map of `struct lab_trigger`.
pub(crate) const TRIGGER: &str = ".data.trigger";
/// The map of `struct lab_exit`.
pub(crate) const EXIT: &str = ".data.exit";
/// The program that every verifier refuses.
pub(crate) const UNSAFE_PROGRAM: &str = "lab_unsafe";

/// Every map above but [`OPS`] has one entry, and this is its key.
pub(crate) const ONLY_KEY: [u8; 4] = 0_u32.to_ne_bytes();
/// A `struct lab_trigger` that is armed.
pub(crate) const ARMED: [u8; 4] = 1_u32.to_ne_bytes();

pub(crate) const OPS_TIMEOUT_MS: Range<usize> = 32..36;
pub(crate) const OPS_NAME: Range<usize> = 36..36 + FIELD_LEN;
pub(crate) const ORDER_FAULT: Range<usize> = 0..4;
pub(crate) const EXIT_RECORDED: Range<usize> = 0..8;
pub(crate) const EXIT_KIND: Range<usize> = 8..16;
pub(crate) const EXIT_CODE: Range<usize> = 16..24;
pub(crate) const EXIT_REASON: Range<usize> = 24..152;
pub(crate) const EXIT_MESSAGE: Range<usize> = 152..1176;

/// The number of this fault in `enum lab_fault`; zero for faults of the loader.
pub(crate) fn fault_number(fault: Option<Fault>) -> u32 {
    match fault {
        Some(Fault::Bpf {
            kind: BpfFault::Stall,
            ..
        }) => 1,
        Some(Fault::Bpf {
            kind: BpfFault::ScxError,
            ..
        }) => 2,
        Some(Fault::Bpf {
            kind: BpfFault::RuntimeError,
            ..
        }) => 3,
        Some(Fault::Bpf {
            kind: BpfFault::BpfExit,
            ..
        }) => 4,
        Some(Fault::Rejection(Rejection::Init)) => 5,
        Some(
            Fault::Rejection(Rejection::Verifier)
            | Fault::SlowAttach(_)
            | Fault::Exit(_)
            | Fault::IgnoreSignals,
        )
        | None => 0,
    }
}
