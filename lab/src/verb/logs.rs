//! `lab logs`: what the lab's processes had to say.

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use lab::Lab;

pub(crate) fn run(lab: &Lab, what: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout();
    match what.map(|what| (what, what.split_once('/'))) {
        None => {
            for name in names(lab)? {
                writeln!(out, "{name}")?;
            }
        }
        Some((_, Some((node, daemon)))) => {
            if !daemon
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
            {
                bail!("{daemon:?} is no daemon of a node: try kubelet, containerd, podman or sshd");
            }
            let status = lab
                .node(node)?
                .command(&["cat", &format!("/var/log/{daemon}.log")])
                .status()?;
            return Ok(if status.success() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Some((name, None)) => {
            if !names(lab)?.iter().any(|known| known == name) {
                bail!("there is no log {name:?}: `lab logs` lists what there is");
            }
            out.write_all(
                &fs::read(lab.state().log(name))
                    .with_context(|| format!("cannot read the log {name}"))?,
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The logs on this side; those of a node's daemons are `NODE/DAEMON`.
fn names(lab: &Lab) -> anyhow::Result<Vec<String>> {
    let mut names: Vec<_> = fs::read_dir(lab.state().path("logs"))?
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    for node in &lab.running().nodes {
        names.extend(
            ["containerd", "podman", "sshd"].map(|daemon| format!("{}/{daemon}", node.name)),
        );
        if lab.running().kubeconfig.is_some() {
            names.push(format!("{}/kubelet", node.name));
        }
    }
    names.sort();
    Ok(names)
}
