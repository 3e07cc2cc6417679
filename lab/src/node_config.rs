//! The configuration of a node: a tar archive with its name, addresses, keys and settings. The node
//! unpacks it from its fourth disk before anything else runs; the root disk is the same for all.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::config_archive::ConfigArchive;
use crate::init::Init;
use crate::network::{self, API, REGISTRY};
use crate::pki::{self, Pki, PkiError};
use crate::ssh::Keys;
use crate::systemd_config;

/// The registry's name in the nodes' `/etc/hosts`.
pub const REGISTRY_NAME: &str = "registry.lab";

#[derive(Clone, Debug)]
pub struct NodeIdentity {
    /// Counted from one.
    pub number: u8,
    pub name: String,
    pub ip: Ipv4Addr,
}

impl NodeIdentity {
    pub fn new(number: u8) -> Self {
        Self {
            number,
            name: format!("node{number}"),
            ip: network::node_ip(number),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NodeConfigError {
    #[error(transparent)]
    Pki(#[from] PkiError),
    #[error("cannot write the configuration of a node: check that the disk is not full")]
    Io(#[from] io::Error),
}

/// Writes the configuration of a node. With `pki` the node joins the cluster.
pub fn write(
    path: &Path,
    node: &NodeIdentity,
    keys: &Keys,
    init: Init,
    pki: Option<&Pki>,
) -> Result<(), NodeConfigError> {
    let mut archive = ConfigArchive::default();
    let (first, lab_daemon) = match init {
        Init::Lab => (
            include_str!("../guest/init"),
            include_str!("../guest/lab-daemon"),
        ),
        Init::Systemd => {
            systemd_config::add(&mut archive, node.number)?;
            (
                include_str!("../guest/systemd/init"),
                include_str!("../guest/systemd/lab-daemon"),
            )
        }
    };
    archive.program("etc/lab/init", first)?;
    archive.program("usr/local/bin/lab-daemon", lab_daemon)?;
    archive.file("etc/lab/prepare", include_str!("../guest/prepare"))?;
    archive.program("etc/lab/sshd", include_str!("../guest/sshd"))?;
    archive.file("etc/lab/sshd_config", include_str!("../guest/sshd_config"))?;
    archive.file(
        "etc/containerd/config.toml",
        include_str!("../guest/containerd.toml"),
    )?;
    let registry = format!("{REGISTRY_NAME}:{}", REGISTRY.port());
    archive.file(
        &format!("etc/containerd/certs.d/{registry}/hosts.toml"),
        include_str!("../guest/hosts.toml"),
    )?;
    archive.file(
        "etc/containers/registries.conf.d/lab.conf",
        include_str!("../guest/registries.conf"),
    )?;
    archive.file(
        "etc/containers/containers.conf",
        include_str!("../guest/containers.conf"),
    )?;
    archive.file("etc/hosts", &hosts(node))?;
    archive.file("etc/hostname", &format!("{}\n", node.name))?;
    archive.file("etc/lab/node.env", &environment(node, pki.is_some()))?;
    archive.secret("etc/lab/ssh_host_ed25519_key", &fs::read(keys.node_key())?)?;
    archive.file(
        "etc/lab/authorized_keys",
        &fs::read_to_string(keys.user_public_key())?,
    )?;
    if let Some(pki) = pki {
        add_kubelet_files(&mut archive, node, pki)?;
    }
    Ok(archive.write(path)?)
}

/// The files that a kubelet needs to join the cluster.
fn add_kubelet_files(
    archive: &mut ConfigArchive,
    node: &NodeIdentity,
    pki: &Pki,
) -> Result<(), NodeConfigError> {
    let name = &node.name;
    let client = pki.client(
        &format!("{name}-client"),
        &format!("system:node:{name}"),
        "system:nodes",
    )?;
    let server = pki.server(&format!("{name}-kubelet"), &[name], &[node.ip])?;
    let kubeconfig = pki::kubeconfig(&format!("https://{API}"), &pki.authority(), &client)?;
    archive.secret("etc/lab/kubelet.kubeconfig", kubeconfig.as_bytes())?;
    archive.file(
        "etc/lab/kubelet.yaml",
        include_str!("../guest/kubelet.yaml"),
    )?;
    archive.file("etc/lab/ca.crt", &fs::read_to_string(pki.authority())?)?;
    archive.file(
        "etc/lab/kubelet.crt",
        &fs::read_to_string(server.certificate)?,
    )?;
    archive.secret("etc/lab/kubelet.key", &fs::read(server.key)?)?;
    archive.file("etc/cni/net.d/10-lab.conflist", &pod_network(node))?;
    Ok(())
}

fn hosts(node: &NodeIdentity) -> String {
    format!(
        "127.0.0.1 localhost\n{} {}\n{} {REGISTRY_NAME}\n",
        node.ip,
        node.name,
        network::HOST
    )
}

fn environment(node: &NodeIdentity, joins: bool) -> String {
    let api = if joins {
        API.to_string()
    } else {
        String::new()
    };
    format!(
        "NODE_NAME={}\nNODE_IP={}\nHOST_IP={}\nAPI_SERVER={api}\nAPI_SERVICE_IP={}\n",
        node.name,
        node.ip,
        network::HOST,
        network::API_SERVICE
    )
}

/// The CNI configuration. Pod addresses are routed in the whole lab, so nothing is masqueraded.
fn pod_network(node: &NodeIdentity) -> String {
    let subnet = network::pod_cidr(node.number);
    serde_json::json!({
        "cniVersion": "1.0.0",
        "name": "lab",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": [{"dst": "0.0.0.0/0"}]},
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_do_not_share_addresses() {
        let (one, two) = (NodeIdentity::new(1), NodeIdentity::new(2));
        assert_ne!(one.ip, two.ip);
        assert!(pod_network(&one).contains("10.244.1.0/24"));
        assert!(pod_network(&two).contains("10.244.2.0/24"));
    }

    #[test]
    fn a_node_without_kubernetes_has_no_api_server_address() {
        assert!(environment(&NodeIdentity::new(1), false).contains("\nAPI_SERVER=\n"));
        assert!(environment(&NodeIdentity::new(1), true).contains("\nAPI_SERVER=10.77.0.1:6443\n"));
    }
}
