//! Checks of the container runtimes, from what was seen when their sockets were tried.

use crate::preflight::{Reach, Requirements, Socket, Verdict};
use crate::snapshot::HostSnapshot;

const PODMAN: &str = "run `systemctl enable --now podman.socket`, or use containerd";
const CONTAINERD: &str = "run `systemctl enable --now containerd`, or use Podman";

pub(super) fn podman(_: &HostSnapshot, requirements: &Requirements) -> Verdict {
    answers(&requirements.podman, PODMAN)
}

pub(super) fn containerd(_: &HostSnapshot, requirements: &Requirements) -> Verdict {
    answers(&requirements.containerd, CONTAINERD)
}

pub(super) fn any(_: &HostSnapshot, requirements: &Requirements) -> Verdict {
    let sockets = [&requirements.podman, &requirements.containerd];
    if let Some(socket) = sockets
        .iter()
        .find(|socket| socket.reach == Reach::Reachable)
    {
        return Verdict::pass(&socket.path);
    }
    if sockets.iter().any(|socket| socket.reach == Reach::Untried) {
        return Verdict::skip("not all of them were tried");
    }
    Verdict::fail(
        "neither does",
        "install Podman and run `systemctl enable --now podman.socket`, or install containerd and run `systemctl enable --now containerd`",
    )
}

fn answers(socket: &Socket, remedy: &str) -> Verdict {
    let Socket { path, reach } = socket;
    match reach {
        Reach::Reachable => Verdict::pass(path),
        Reach::Unreachable(why) => Verdict::fail(format!("{path}: {why}"), remedy),
        Reach::Untried => Verdict::skip(format!("{path} was not tried")),
    }
}
