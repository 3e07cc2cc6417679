//! The containerd driver against a real containerd that the tests start themselves. No kernel with
//! sched_ext is needed: what runs is a small program of the tests' own.
//!
//! `SCHEDKIT_CONTAINERD` names the edition: `debian` (the default), `1.7` or `2`.

mod end;
mod failed_pulls;
mod labels;
mod logs;
mod pull;
mod run;
mod sockets;
