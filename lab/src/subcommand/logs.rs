//! `lab logs`: prints logs. Those of the lab's processes can be read while a lab starts and after it
//! has ended; those of a node's daemons need the node.

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use lab::{Lab, State};

/// The daemons of a node; kubelet only in a cluster.
const DAEMONS: [&str; 4] = ["containerd", "kubelet", "podman", "sshd"];

pub(crate) fn run(state: State, what: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    match what.map(|what| what.split_once('/').ok_or(what)) {
        None => {
            for name in names(&state)? {
                writeln!(out, "{name}")?;
            }
        }
        Some(Err("supervisor")) => out.write_all(&fs::read(state.path("supervisor.log"))?)?,
        Some(Err(name)) => {
            if !names(&state)?.iter().any(|known| known == name) {
                bail!("there is no log {name:?}: `lab logs` lists the logs");
            }
            out.write_all(
                &fs::read(state.log(name))
                    .with_context(|| format!("cannot read the log {name}"))?,
            )?;
        }
        Some(Ok((node, daemon))) => {
            if !DAEMONS.contains(&daemon) {
                bail!(
                    "{daemon:?} is not a daemon of a node: use one of {}",
                    DAEMONS.join(", ")
                );
            }
            let lab = Lab::find(state)?;
            let file = format!("/var/log/{daemon}.log");
            let status = lab
                .reachable_node(node)?
                .command(&["cat", &file])
                .status()?;
            return Ok(if status.success() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn names(state: &State) -> anyhow::Result<Vec<String>> {
    let folder = state.path("logs");
    let entries = fs::read_dir(&folder).with_context(|| {
        format!(
            "no lab ever ran in {}: start one with `lab up`",
            state.folder().display()
        )
    })?;
    let mut names: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.push("supervisor".to_owned());
    if let Ok(lab) = state.running() {
        for node in &lab.nodes {
            names.extend(DAEMONS.map(|daemon| format!("{}/{daemon}", node.name)));
        }
    }
    names.sort();
    Ok(names)
}
