//! `lab status`: what runs, and whether it answers now.

use std::io::Write;
use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets;
use serde::Serialize;

use crate::args::Output;
use lab::oci::Registry;
use lab::{Lab, RunningLab, ssh};

/// What was found when each part was asked.
#[derive(Debug, Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    lab: &'a RunningLab,
    api_server: Option<Answer>,
    registry_state: Answer,
    referrers_state: Option<Answer>,
    node_states: Vec<NodeState<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Ready,
    Silent,
}

#[derive(Debug, Serialize)]
struct NodeState<'a> {
    name: &'a str,
    login: Answer,
    kubernetes: Option<String>,
    kernel: Option<String>,
    sched_ext: Option<String>,
}

pub(crate) fn run(lab: &Lab, output: Output) -> anyhow::Result<ExitCode> {
    let status = ask(lab);
    let mut out = std::io::stdout();
    match output {
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?,
        Output::Text => write!(out, "{}", text(&status))?,
    }
    Ok(if status.is_well() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Status<'_> {
    /// Whether everything answers and every node is what it should be.
    fn is_well(&self) -> bool {
        let ready = |answer: Answer| answer == Answer::Ready;
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

fn ask(lab: &Lab) -> Status<'_> {
    let running = lab.running();
    let has_api = running.kubeconfig.is_some();
    Status {
        lab: running,
        api_server: has_api.then(|| answer(kubectl(lab, &["get", "--raw", "/readyz"]).is_some())),
        registry_state: answer(Registry::new(&running.registry).is_up()),
        referrers_state: running
            .referrers_registry
            .as_ref()
            .map(|address| answer(Registry::new(address).is_up())),
        node_states: running
            .nodes
            .iter()
            .map(|node| node_state(lab, &node.name, has_api))
            .collect(),
    }
}

fn node_state<'a>(lab: &'a Lab, name: &'a str, has_api: bool) -> NodeState<'a> {
    let open = ssh::is_open(lab.state(), name);
    let read = |words: &[&str]| {
        let said = lab.node(name).ok()?.run(words).ok()?;
        (open && said.status == 0).then(|| said.stdout.trim().to_owned())
    };
    let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
    NodeState {
        name,
        login: answer(open),
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

fn kubectl(lab: &Lab, words: &[&str]) -> Option<String> {
    let output = lab
        .kubectl()
        .ok()?
        .arg("--request-timeout=5s")
        .args(words)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn answer(answers: bool) -> Answer {
    if answers {
        Answer::Ready
    } else {
        Answer::Silent
    }
}

fn text(status: &Status<'_>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["WHAT", "STATE", "KUBERNETES", "SCHED_EXT", "WHERE"]);
    if let (Some(answer), Some(config)) = (status.api_server, &status.lab.kubeconfig) {
        table.add_row([
            "api server",
            word(answer),
            "",
            "",
            &config.display().to_string(),
        ]);
    }
    table.add_row([
        "registry",
        word(status.registry_state),
        "",
        "",
        &status.lab.registry,
    ]);
    if let (Some(answer), Some(address)) = (status.referrers_state, &status.lab.referrers_registry)
    {
        table.add_row(["referrers", word(answer), "", "", address]);
    }
    for (node, state) in status.lab.nodes.iter().zip(&status.node_states) {
        table.add_row([
            state.name,
            word(state.login),
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

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Ready => "ready",
        Answer::Silent => "silent",
    }
}
