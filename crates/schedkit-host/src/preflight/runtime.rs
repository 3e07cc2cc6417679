//! Checks of the container runtimes, from the result of connecting to their sockets.

use super::outcome::Outcome;
use super::requirements::{Reachability, Requirements, Socket};
use crate::other_runtimes;
use crate::snapshot::HostSnapshot;

const PODMAN_REMEDY: &str = "run `systemctl enable --now podman.socket`, or use containerd";
const CONTAINERD_REMEDY: &str = "run `systemctl enable --now containerd`, or use Podman";

const NO_RUNTIME_REMEDY: &str = "install Podman and run `systemctl enable --now podman.socket`, or install containerd and run `systemctl enable --now containerd`";

pub(super) fn podman(_: &HostSnapshot, requirements: &Requirements) -> Outcome {
    check_socket(&requirements.podman, PODMAN_REMEDY)
}

pub(super) fn containerd(_: &HostSnapshot, requirements: &Requirements) -> Outcome {
    check_socket(&requirements.containerd, CONTAINERD_REMEDY)
}

pub(super) fn any(host: &HostSnapshot, requirements: &Requirements) -> Outcome {
    let sockets = [&requirements.podman, &requirements.containerd];
    if let Some(socket) = sockets
        .iter()
        .find(|socket| socket.reachability == Reachability::Reachable)
    {
        return Outcome::pass(&socket.path);
    }
    if sockets
        .iter()
        .any(|socket| socket.reachability == Reachability::NotChecked)
    {
        return Outcome::skip("not every socket was tried");
    }
    let others = other_runtimes::remedy(&host.other_runtimes);
    Outcome::fail(
        "neither Podman nor containerd answers",
        others.unwrap_or_else(|| NO_RUNTIME_REMEDY.to_owned()),
    )
}

fn check_socket(socket: &Socket, remedy: &str) -> Outcome {
    let Socket { path, reachability } = socket;
    match reachability {
        Reachability::Reachable => Outcome::pass(path),
        Reachability::Unreachable(why) => Outcome::fail(format!("{path}: {why}"), remedy),
        Reachability::NotChecked => Outcome::skip(format!("{path} was not tried")),
    }
}
