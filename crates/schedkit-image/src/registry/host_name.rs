//! Names of hosts: the host of a URL, and Docker Hub, whose registry has another name than its
//! images. Pure.

use reqwest::Url;

const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";

/// The host of a URL with its port, and nothing else of it: the rest can hold a password.
pub(super) fn host_and_port(url: &Url) -> String {
    let name = url.host_str().unwrap_or("(no host)");
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// The host that serves the API for images of `host`.
pub(super) fn api_host(host: &str) -> &str {
    match host {
        DOCKER_HUB => DOCKER_HUB_REGISTRY,
        other => other,
    }
}

/// The name that references and the configuration use for a host of the API.
pub(super) fn configured_name(host: &str) -> &str {
    match host {
        DOCKER_HUB_REGISTRY => DOCKER_HUB,
        other => other,
    }
}
