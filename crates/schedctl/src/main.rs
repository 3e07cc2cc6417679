//! schedctl: runs sched_ext schedulers from OCI images on this machine.
//!
//! ```text
//! argv ─▶ args ──┐                      ┌─▶ steps ─▶ observe, decide, plan, execute ─▶ schedkit-*
//! environment ───┼─▶ request ─▶ cmd/<command> ─▶ output ─▶ exit
//! settings file ─┘
//! ```
//!
//! `args` is a library beside this program: see `lib.rs`.

mod atomic_file;
mod audit_log;
mod boot_failure;
mod boot_selection;
mod boot_time;
mod boot_unit;
mod cmd;
mod completion;
mod confirmation;
mod container;
mod decide;
mod drivers;
mod enabled;
mod error_text;
mod execute;
mod exit;
mod forward_output;
mod guard;
mod guard_process;
mod interrupt;
mod inventory;
mod kernel;
mod log_lines;
mod observe;
mod output;
mod output_tail;
mod plan;
mod pull_record;
mod request;
mod run;
mod runtimes;
mod service_manager;
mod settings;
mod sked;
mod state_dir;
mod status;
mod steps;
mod stored_images;
mod systemctl;
mod systemd_unit;
mod tag_cache;
mod transition;
mod trial;
mod undriven;
mod unit_failure;
mod untrusted_image;

#[cfg(test)]
mod fixtures;

use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<_> = std::env::args_os().collect();
    run::run(&argv).into()
}
