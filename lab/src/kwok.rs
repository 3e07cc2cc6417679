//! Simulated nodes: kwok takes the part of the kubelet for every `Node` object with the label
//! [`LABEL`]. Pods on such a node run at once and end when they are deleted; there is no kernel
//! behind any of it. For tests with thousands of nodes.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::network;
use crate::state::State;

/// The label of a simulated node: name and value.
pub const LABEL: (&str, &str) = ("lab.schedkit.io/kwok", "true");

const STAGES: &str = include_str!("../tools/kwok/stages.yaml");

/// The command that runs kwok; `config` is an administrator's kubeconfig.
pub(crate) fn command(
    state: &State,
    program: &Path,
    server: &str,
    config: &Path,
) -> io::Result<Command> {
    let stages = state.path("kwok-stages.yaml");
    fs::write(&stages, STAGES)?;
    let mut command = network::without_proxies(program);
    command.arg("--kubeconfig").arg(config);
    command.arg("--config").arg(&stages);
    command.args(["--master", server]);
    command.arg(format!(
        "--manage-nodes-with-label-selector={}={}",
        LABEL.0, LABEL.1
    ));
    // Without leases the nodes would become NotReady after a while.
    command.args([
        "--node-lease-duration-seconds=40",
        "--server-address=127.0.0.1:10247",
    ]);
    Ok(command)
}
