//! `lab up`: bring a lab up, say how to use it, hold it.

use std::io::Write;
use std::process::ExitCode;

use crate::args::{Args, Up};
use crate::screen::Screen;
use lab::{Lab, RunningLab};

pub(crate) fn run(args: &Args, up: &Up) -> anyhow::Result<ExitCode> {
    let mut screen = Screen::new();
    let lab = Lab::up(&args.order(up), |event| screen.show(event))?;
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
    text += &format!(
        "  registry  {} (on the nodes: {})\n",
        lab.registry, lab.registry_on_nodes
    );
    for node in &lab.nodes {
        text += &format!("  {}     kernel {}\n", node.name, node.kernel);
    }
    text
}
