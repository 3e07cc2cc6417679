//! Turns `proto/` into the client of the containerd driver. Writes into `OUT_DIR` only, and needs
//! no `protoc`.
#![allow(
    clippy::print_stdout,
    reason = "that is how a build script speaks to cargo"
)]

use std::error::Error;

const PROTOS: [&str; 9] = [
    "containers.proto",
    "content.proto",
    "diff.proto",
    "images.proto",
    "introspection.proto",
    "leases.proto",
    "snapshots.proto",
    "tasks.proto",
    "version.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS.iter().chain(&["runc.proto"]), ["proto"])?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .include_file("containerd_api.rs")
        .compile_fds(descriptors)?;
    Ok(())
}
