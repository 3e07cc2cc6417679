//! The second half of the demo: the same node without Kubernetes, with schedctl.

use std::path::Path;

use anyhow::ensure;
use lab::{Lab, SchedctlHost};

use crate::stage::{NOTHING, Stage};

pub(crate) fn run(stage: &mut Stage, lab: Lab, program: &Path) -> anyhow::Result<()> {
    stage.title("The same node without Kubernetes: schedctl, and images that the lab signed")?;
    let host = stage.step("signing images, installing schedctl on the node", || {
        SchedctlHost::set_up(lab, program)
    })?;
    schedctl(stage, &host, "doctor", 0)?;
    schedctl(stage, &host, "run scx_lab --version 1.0.0", 0)?;
    schedctl(stage, &host, "status", 0)?;
    schedctl(stage, &host, "switch scx_lab --version 1.1.0", 0)?;

    stage.title("The next one is told to stall: the kernel ejects it, and schedctl goes back")?;
    let stall = "switch scx_lab --probation 60s -- --fault stall --timeout 2s";
    schedctl(stage, &host, stall, 4)?;
    schedctl(stage, &host, "status", 0)?;
    schedctl(stage, &host, "stop scx_lab", 0)?;
    stage.kernel(host.lab(), "disabled", NOTHING)
}

/// Runs schedctl on the node, which must end with this code.
fn schedctl(stage: &Stage, host: &SchedctlHost, args: &str, code: i32) -> anyhow::Result<()> {
    let output = stage.run(&format!("\nnode1 # schedctl {args}"), || {
        host.schedctl(&args.split(' ').collect::<Vec<_>>())
    })??;
    stage.say(output.text().trim_end())?;
    let status = output.status;
    ensure!(
        status == code,
        "schedctl {args} ended with {status}, not {code}"
    );
    Ok(())
}
