//! The containerd driver against a real containerd that the tests start themselves, with images
//! from a lab's registry. No kernel with sched_ext is needed: what runs is a small program of the
//! tests' own.
//!
//! `SCHEDKIT_CONTAINERD` says which edition: `debian` (the default), `1.7` or `2`.

#![cfg(test)]

mod daemon;
mod ending;
mod images;
mod pulling;
mod running;
mod sockets;
mod trouble;
mod yard;
