//! `lab status`: shows whether the lab's services and nodes respond.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets;
use serde::Serialize;

use crate::args::Output;
use lab::oci::Registry;
use lab::{Lab, RunningLab, ssh};

#[derive(Debug, Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    lab: &'a RunningLab,
    api_server: Option<Health>,
    registry_state: Health,
    referrers_state: Option<Health>,
    node_states: Vec<NodeState<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Health {
    Ready,
    Silent,
}

#[derive(Debug, Serialize)]
struct NodeState<'a> {
    name: &'a str,
    login: Health,
    kubernetes: Option<String>,
    kernel: Option<String>,
    sched_ext: Option<String>,
}

pub(crate) fn run(lab: &Lab, output: Output) -> anyhow::Result<ExitCode> {
    let status = check(lab);
    let mut out = std::io::stdout();
    match output {
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?,
        Output::Text => write!(out, "{}", text(&status))?,
    }
    Ok(if status.is_healthy() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Status<'_> {
    /// Whether everything responds and every node is Ready.
    fn is_healthy(&self) -> bool {
        let ready = |health: Health| health == Health::Ready;
        let joined = |node: &NodeState<'_>| {
            node.kubernetes
                .as_deref()
                .is_none_or(|state| state == "Ready")
        };
        self.api_server.is_none_or(ready)
            && ready(self.registry_state)
            && self.referrers_state.is_none_or(ready)
            && self
                .node_states
                .iter()
                .all(|node| ready(node.login) && joined(node))
    }
}

fn check(lab: &Lab) -> Status<'_> {
    let running = lab.running();
    let has_api = running.kubeconfig.is_some();
    Status {
        lab: running,
        api_server: has_api.then(|| health(kubectl(lab, &["get", "--raw", "/readyz"]).is_some())),
        registry_state: health(Registry::new(&running.registry).is_up()),
        referrers_state: running
            .referrers_registry
            .as_ref()
            .map(|address| health(Registry::new(address).is_up())),
        node_states: running
            .nodes
            .iter()
            .map(|node| node_state(lab, &node.name, has_api))
            .collect(),
    }
}

fn node_state<'a>(lab: &'a Lab, name: &'a str, has_api: bool) -> NodeState<'a> {
    let open = ssh::is_open(lab.state(), name);
    let read = |args: &[&str]| {
        let output = lab.node(name).ok()?.run(args).ok()?;
        (open && output.status == 0).then(|| output.stdout.trim().to_owned())
    };
    let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
    NodeState {
        name,
        login: health(open),
        kubernetes: has_api.then(|| {
            match kubectl(lab, &["get", "node", name, "-o", ready]).as_deref() {
                Some("True") => "Ready".to_owned(),
                Some("False") => "NotReady".to_owned(),
                _ => "Unknown".to_owned(),
            }
        }),
        kernel: read(&["uname", "-r"]),
        sched_ext: read(&["cat", "/sys/kernel/sched_ext/state"]),
    }
}

fn kubectl(lab: &Lab, args: &[&str]) -> Option<String> {
    let output = lab
        .kubectl()
        .ok()?
        .arg("--request-timeout=5s")
        .args(args)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn health(responds: bool) -> Health {
    if responds {
        Health::Ready
    } else {
        Health::Silent
    }
}

fn text(status: &Status<'_>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["WHAT", "STATE", "KUBERNETES", "SCHED_EXT", "WHERE"]);
    if let (Some(health), Some(config)) = (status.api_server, &status.lab.kubeconfig) {
        table.add_row([
            "api server",
            health_text(health),
            "",
            "",
            &config.display().to_string(),
        ]);
    }
    table.add_row([
        "registry",
        health_text(status.registry_state),
        "",
        "",
        &status.lab.registry,
    ]);
    if let (Some(health), Some(address)) = (status.referrers_state, &status.lab.referrers_registry)
    {
        table.add_row(["referrers", health_text(health), "", "", address]);
    }
    for (node, state) in status.lab.nodes.iter().zip(&status.node_states) {
        table.add_row([
            state.name,
            health_text(state.login),
            state.kubernetes.as_deref().unwrap_or("-"),
            state.sched_ext.as_deref().unwrap_or("-"),
            &format!("kernel {}", state.kernel.as_deref().unwrap_or(&node.kernel)),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
        .to_string()
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn health_text(health: Health) -> &'static str {
    match health {
        Health::Ready => "ready",
        Health::Silent => "silent",
    }
}
