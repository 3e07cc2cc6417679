//! schedctl on a machine, at length: every fault, every bad input, every moment to be killed, both
//! drivers, and scx_bpfland, a scheduler that others wrote. The suite `machine` has one test for
//! each promise.

#![cfg(test)]

mod already_running;
mod attach;
mod bad_input;
mod faults;
mod full_disk;
mod killed;
mod page;
mod real_schedulers;
mod recording;
mod status;
mod switch;
mod transcript;
mod trial;
mod without_schedctl;
