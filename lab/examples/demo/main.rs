//! `make demo`: a node boots and joins a cluster, sked is deployed there, a SchedExt attaches a
//! scheduler to the node's kernel and detaches it again. Then schedctl does the same on the node
//! itself, and goes back from a scheduler that stalls.
//!
//! The kernel's state is shown before, during and after. A step with another result than announced
//! ends the demo with exit code 1; the lab ends with it.

mod machine;
mod operator;
mod stage;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use lab::{Lab, LabSpec, SchedctlHost, Topology};

use stage::Stage;

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "demo: {}",
                lab::error_chain(error.as_ref())
            );
            ExitCode::FAILURE
        }
    }
}

fn demo() -> anyhow::Result<()> {
    let mut stage = Stage::new();
    stage.title("A node with its own kernel joins a real Kubernetes")?;
    let programs = programs()?;
    let spec = LabSpec {
        topology: Topology::Cluster,
        ..SchedctlHost::spec("demo", &lab::operator::tree().join(".lab"))
    };
    let lab = Lab::up(&spec, |event| stage.show(event))?;
    operator::run(&mut stage, &lab, &programs.join("sked"))?;
    machine::run(&mut stage, lab, &programs.join("schedctl"))
}

/// `lab/demo` builds the programs into the folder above this one.
fn programs() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.ancestors().nth(2).map(Path::to_owned);
    folder.context("cannot find the folder of the programs: run `make demo`")
}
