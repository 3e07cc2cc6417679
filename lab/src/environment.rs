//! Environment variables that the command, the demo and the tests read. (`args.rs` reads those that
//! name a lab.)

use std::env;
use std::path::PathBuf;

pub const CACHE: &str = "SCHEDKIT_CACHE";
pub const ACCELERATOR: &str = "SCHEDKIT_LAB_ACCEL";

/// The folder of the cache: `$SCHEDKIT_CACHE`, else `~/.cache/schedkit-lab`.
pub fn cache_folder() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    match env::var_os(CACHE) {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => home().join(".cache/schedkit-lab"),
    }
}

/// QEMU's accelerator. The default is emulation, which works everywhere: a `/dev/kvm` that opens may
/// still not run a guest. Each processor has a thread, so that the two of a node run at the same
/// time; QEMU 7.2 had a bug there, see `design/0006-the-nodes-qemu.md`.
pub fn accelerator() -> String {
    env::var(ACCELERATOR).unwrap_or_else(|_| "tcg,thread=multi".to_owned())
}
