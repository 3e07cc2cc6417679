//! What the environment says about the machine that labs run on, for the command, the demo and the
//! tests alike. (Which lab a command means is in `args.rs`.)

use std::env;
use std::path::PathBuf;

/// Moves the cache.
pub const CACHE: &str = "SCHEDKIT_CACHE";
/// Chooses QEMU's accelerator.
pub const ACCELERATOR: &str = "SCHEDKIT_LAB_ACCEL";

/// The folder of what is kept between labs: `$SCHEDKIT_CACHE`, else `~/.cache/schedkit-lab`.
pub fn cache_folder() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    match env::var_os(CACHE) {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => home().join(".cache/schedkit-lab"),
    }
}

/// QEMU's accelerator. Emulation works everywhere; a `/dev/kvm` that opens may still not be able
/// to run a guest, so it is never chosen unasked. A thread a processor, so that the two of a node
/// really run side by side; QEMU 7.2 could not be trusted with that, see
/// `design/0006-the-nodes-qemu.md`.
pub fn accelerator() -> String {
    env::var(ACCELERATOR).unwrap_or_else(|_| "tcg,thread=multi".to_owned())
}
