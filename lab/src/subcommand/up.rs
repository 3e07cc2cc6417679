//! `lab up`: starts a lab, prints how to use it, and keeps it until Ctrl-C.

use std::io::Write;
use std::process::ExitCode;

use crate::args::{Args, Up};
use lab::{Lab, ProgressBars, RunningLab};

pub(crate) fn run(args: &Args, up: &Up) -> anyhow::Result<ExitCode> {
    let mut progress_bars = ProgressBars::new();
    let lab = Lab::up(&args.spec(up), |event| progress_bars.show(event))?;
    write!(std::io::stdout(), "{}", how_to_use(lab.running()))?;
    if up.detach {
        lab.detach()?;
    } else {
        writeln!(std::io::stdout(), "Ctrl-C ends it.")?;
        lab.wait()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn how_to_use(lab: &RunningLab) -> String {
    let mut text = format!("The lab {:?} is ready.\n", lab.name);
    if let (Some(config), Some(kubectl)) = (&lab.kubeconfig, &lab.kubectl) {
        text += &format!("  export KUBECONFIG={}\n", config.display());
        text += &format!("  kubectl   {}\n", kubectl.display());
    }
    text += &format!("  registry  {}", lab.registry);
    if !lab.nodes.is_empty() {
        text += &format!(" (on the nodes: {})", lab.registry_on_nodes);
    }
    text += "\n";
    if let Some(registry) = &lab.referrers_registry {
        text += &format!("  registry  {registry} (with the referrers API)\n");
    }
    if let Some(cosign) = lab.tools.as_ref().and_then(|tools| tools.cosign.as_ref()) {
        text += &format!("  cosign 3  {}\n", cosign.v3.display());
        text += &format!("  cosign 2  {}\n", cosign.v2.display());
    }
    for node in &lab.nodes {
        text += &format!("  {}     kernel {}\n", node.name, node.kernel);
    }
    text
}
