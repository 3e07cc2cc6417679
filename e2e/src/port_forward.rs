//! `kubectl port-forward`: a port of this machine that leads to a pod or a Service.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::cluster::Cluster;

/// Ends when dropped.
pub struct PortForward {
    process: Child,
    /// The port on this machine's loopback.
    pub port: u16,
}

impl PortForward {
    /// To a port of `pod/NAME` or `service/NAME`.
    #[track_caller]
    pub fn start(cluster: &Cluster, namespace: &str, what: &str, port: u16) -> Self {
        let mut process = cluster
            .command(&["port-forward", "-n", namespace, what])
            .arg(format!(":{port}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Forwarding from 127.0.0.1:40123 -> 8080
        let mut line = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        // It prints a line for each connection, and stops when nobody reads them.
        std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
        let local = line
            .split_once(':')
            .and_then(|(_, rest)| rest.split(' ').next());
        let port = local.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("kubectl port-forward printed {line:?}"));
        Self { process, port }
    }
}

impl Drop for PortForward {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
