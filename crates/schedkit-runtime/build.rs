//! Generates the gRPC client of the containerd driver from `proto/`. Writes only into `OUT_DIR` and
//! needs no `protoc`.
#![allow(
    clippy::print_stdout,
    reason = "cargo reads the output of build scripts"
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
