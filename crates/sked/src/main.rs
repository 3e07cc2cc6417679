//! `sked`, the operator; see `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sked::start()
}
