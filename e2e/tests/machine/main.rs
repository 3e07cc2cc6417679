//! schedctl on a machine with a real sched_ext kernel, a real Podman and a real containerd: one
//! virtual machine for the whole suite, one test at a time on it, one test for each promise of
//! `docs/schedctl.md`. Every fault, every bad input and every moment to be killed are in
//! `long_machine`.

#![cfg(test)]

mod attach;
mod boot_unit;
mod events;
mod inspect;
mod node;
mod run;
mod status;
mod switch;
mod trial;
mod trust;
