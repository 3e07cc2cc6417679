//! A kwok of nodes that are objects only: kwok plays their kubelets. Whoever wants thousands of
//! nodes creates `Node` objects with the label [`LABEL`]; their pods run at once and go when they
//! are deleted. No kernel is behind any of it.

use std::fs;
use std::path::Path;

use crate::control_plane::ControlPlaneError;
use crate::network;
use crate::service::Service;
use crate::state::State;

/// What a node must carry to be played.
pub const LABEL: (&str, &str) = ("lab.schedkit.io/kwok", "true");

const STAGES: &str = include_str!("../tools/kwok/stages.yaml");

/// Starts it; `config` is an administrator's.
pub(crate) fn start(
    state: &State,
    program: &Path,
    server: &str,
    config: &Path,
) -> Result<Service, ControlPlaneError> {
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
    // Without leases the nodes would be called lost after a while.
    command.args([
        "--node-lease-duration-seconds=40",
        "--server-address=127.0.0.1:10247",
    ]);
    Ok(Service::start("kwok", command, state.log("kwok"))?)
}
