//! `make demo`: a node boots and joins a cluster, sked is deployed there, a SchedExt puts a
//! scheduler into the node's kernel and takes it out again. Then schedctl does it on the node
//! itself, and goes back from a scheduler that stalls.
//!
//! The kernel is asked before, during and after. A step that does not end as it is told ends the
//! demo with exit code 1; the lab goes with it either way.

mod machine;
mod operator;
mod stage;

use std::io::Write;
use std::process::ExitCode;

use lab::static_program::{self, Profile};
use lab::{Lab, LabSpec, SchedctlHost, Scheduler, Topology};

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
    let build = |name| static_program::build(name, Profile::Release);
    let sked = stage.step("building sked", || build("sked"))?;
    let schedctl = stage.step("building schedctl", || build("schedctl"))?;
    let spec = LabSpec {
        topology: Topology::Cluster,
        schedulers: vec![Scheduler::ScxLab, Scheduler::ScxBpfland],
        ..SchedctlHost::spec("demo", &lab::operator::tree().join(".lab"))
    };
    let lab = Lab::up(&spec, |event| stage.show(event))?;
    operator::story(&mut stage, &lab, &sked)?;
    machine::story(&mut stage, lab, &schedctl)
}
