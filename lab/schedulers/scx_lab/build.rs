//! Compiles the BPF part with clang into `OUT_DIR`, from where `object.rs` embeds it.
//!
//! `SCX_LAB_CLANG` names the compiler; without it `clang-19` is tried, then `clang`. Nothing is
//! written into the source tree, and no header of the build machine is read.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

const SOURCES: [&str; 3] = ["bpf/lab.bpf.c", "bpf/shared.h", "bpf/kernel.h"];

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=SCX_LAB_CLANG");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<(), String> {
    let clang = clang()?;
    let out_dir = env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?;
    let output = PathBuf::from(out_dir).join("lab.bpf.o");
    // Version 3 of the instruction set has the atomics that the exit record needs. The object is
    // the same wherever it is built: every target of the lab is little-endian, and no path of the
    // machine goes into the debug information.
    let status = Command::new(&clang)
        .args(["-target", "bpfel", "-mcpu=v3", "-std=gnu17", "-nostdinc"])
        .args(["-g", "-O2", "-fdebug-compilation-dir=."])
        .args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        .args(["-c", SOURCES[0], "-o"])
        .arg(&output)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", clang.display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!(
            "{} could not compile {}",
            clang.display(),
            SOURCES[0]
        ))
    }
}

/// The compiler in `SCX_LAB_CLANG`, or else the first that can be started.
fn clang() -> Result<OsString, String> {
    if let Some(clang) = env::var_os("SCX_LAB_CLANG") {
        return Ok(clang);
    }
    ["clang-19", "clang"]
        .into_iter()
        .find(|name| starts(name))
        .map(OsString::from)
        .ok_or_else(|| {
            "scx_lab needs clang to compile its BPF part: install clang-19, or name a clang in \
             SCX_LAB_CLANG"
                .to_owned()
        })
}

fn starts(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
