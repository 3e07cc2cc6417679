//! What these stories ask on their nodes, and the way to the pods' metrics.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::site::Site;

/// A way to a pod's port, which is closed when it is dropped.
pub(crate) struct Way {
    process: Child,
    pub(crate) port: u16,
}

impl Site {
    /// Waits until so many kernels run it, and they are all that should.
    #[track_caller]
    pub(crate) fn await_attached(&self, nodes: u8) {
        self.until(&format!("{nodes} kernels run it"), || {
            self.attached(nodes)?.then_some(())
        });
    }

    /// Waits until it was gone from a kernel, and then until it is back.
    #[track_caller]
    pub(crate) fn await_attached_again(&self) {
        self.until("a kernel lost it", || (!self.attached(2)?).then_some(()));
        self.await_attached(2);
    }

    fn attached(&self, nodes: u8) -> Option<bool> {
        let schedext = self.get(&["schedext", "lab"]);
        let status = &schedext["status"];
        let counts = status["counts"].as_object()?;
        Some(
            status["observedGeneration"] == schedext["metadata"]["generation"]
                && counts["attached"] == nodes
                && counts["desired"] == nodes,
        )
    }

    /// The pods of sked's with this label, and the nodes that they are on.
    pub(crate) fn pods(&self, label: &str) -> Vec<(String, String)> {
        let pods = self.get(&["pods", "-n", "sked-system", "-l", label]);
        let pods = pods["items"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        pods.map(|pod| {
            (
                text(&pod["metadata"]["name"]),
                text(&pod["spec"]["nodeName"]),
            )
        })
        .collect()
    }

    /// A port on this machine's loopback that leads to a port of one of sked's pods.
    pub(crate) fn way(&self, pod: &str, port: u16) -> Way {
        let mut process = self
            .lab
            .kubectl()
            .unwrap()
            .args(["port-forward", "-n", "sked-system"])
            .args([format!("pod/{pod}"), format!(":{port}")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Forwarding from 127.0.0.1:40123 -> 8080
        let mut said = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut said).unwrap();
        // Each connection is told, to the end: who does not listen stops it.
        std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
        let local = said
            .split_once(':')
            .and_then(|(_, rest)| rest.split(' ').next());
        let port = local.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("kubectl port-forward said {said:?}"));
        Way { process, port }
    }
}

/// Ends a process of this test's.
pub(crate) fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

impl Drop for Way {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}
