//! `kubectl sx`: what the schedulers of a cluster do and why, and roll-outs steered by hand.
//!
//! ```text
//! argv ─▶ args ─▶ request ─▶ cmd/<command> ─▶ view (a value) ─▶ output: text or JSON ─▶ exit
//!                                 │
//!              sked::snapshot (lists ─▶ the manager's stores ─▶ sked-plan), schedexts (reads, writes)
//! ```
//!
//! `args` is a library beside this program: see `lib.rs`.

mod cluster;
mod cmd;
mod error;
mod exit;
#[cfg(test)]
mod fixtures;
mod manifest;
mod output;
mod request;
mod run;
mod schedexts;
mod view;
mod wait;

use std::process::ExitCode;

fn main() -> ExitCode {
    run::run().into()
}
