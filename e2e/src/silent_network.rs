//! A network of two addresses that can lose all packets without closing a connection. Processes run
//! on its inner side; on the outer one a proxy leads to the API server.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::manager::Manager;
use crate::tcp_proxy::TcpProxy;

/// From the range for documentation.
const OUTER: &str = "198.51.100.1";
const INNER: &str = "198.51.100.2";

/// Removed when dropped.
pub struct SilentNetwork {
    /// Of the network namespace, and of the outer interface.
    name: &'static str,
}

impl SilentNetwork {
    pub fn new(name: &'static str) -> Self {
        let network = Self { name };
        let peer = format!("{name}-in");
        network.ip(&["netns", "add", name]);
        let veth = ["link", "add", name, "type", "veth", "peer", "name", &peer];
        network.ip(&[&veth[..], &["netns", name]].concat());
        network.ip(&["addr", "add", &format!("{OUTER}/30"), "dev", name]);
        network.ip(&["link", "set", name, "up"]);
        for device in ["lo", &peer] {
            network.ip(&["-n", name, "link", "set", device, "up"]);
        }
        let inner = format!("{INNER}/30");
        network.ip(&["-n", name, "addr", "add", &inner, "dev", &peer]);
        network
    }

    /// A kubeconfig, changed, for processes on the inner side.
    pub fn kubeconfig(
        &self,
        cluster: &Cluster,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> PathBuf {
        let (_, kubeconfig) = TcpProxy::at(OUTER, cluster, name, |config| {
            config["clusters"][0]["cluster"]["tls-server-name"] = json!("localhost");
            change(config);
        });
        kubeconfig
    }

    /// Starts `sked COMMAND` on the inner side.
    pub fn sked(
        &self,
        cluster: &Cluster,
        command: &str,
        kubeconfig: &Path,
        args: &[&str],
    ) -> Manager {
        let inside = ["ip", "netns", "exec", self.name];
        cluster.sked_by(&inside, command, kubeconfig, args)
    }

    /// From now on every packet is lost.
    pub fn lose_packets(&self) {
        self.ip(&["link", "set", self.name, "down"]);
    }

    pub fn pass_packets(&self) {
        self.ip(&["link", "set", self.name, "up"]);
    }

    #[track_caller]
    fn ip(&self, args: &[&str]) {
        let output = Command::new("ip").args(args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {}: {err}", args.join(" "));
    }
}

impl Drop for SilentNetwork {
    fn drop(&mut self) {
        for args in [["link", "del", self.name], ["netns", "del", self.name]] {
            let _ = Command::new("ip").args(args).output();
        }
    }
}
