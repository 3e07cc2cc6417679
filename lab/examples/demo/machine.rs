//! The second half of the demo: the same node without Kubernetes, as schedctl's users have it.

use std::path::Path;

use anyhow::ensure;
use lab::{Lab, SchedctlHost};

use crate::stage::{NOBODY, Stage};

pub(crate) fn story(stage: &mut Stage, lab: Lab, program: &Path) -> anyhow::Result<()> {
    stage.title("The same node without Kubernetes: schedctl, and images that the lab signed")?;
    let host = stage.step("signing images, putting schedctl on the node", || {
        SchedctlHost::set_up(lab, program)
    })?;
    schedctl(stage, &host, "doctor", 0)?;
    schedctl(stage, &host, "run scx_lab", 0)?;
    schedctl(stage, &host, "status", 0)?;
    schedctl(stage, &host, "switch scx_bpfland", 0)?;

    stage
        .title("The next one stalls on order: the kernel throws it out, and schedctl goes back")?;
    let stall = "switch scx_lab --probation 60s -- --fault stall --timeout 2s";
    schedctl(stage, &host, stall, 4)?;
    schedctl(stage, &host, "status", 0)?;
    schedctl(stage, &host, "stop scx_bpfland", 0)?;
    stage.kernel(host.lab(), "disabled", NOBODY)
}

/// Runs schedctl on the node, which must end with this code.
fn schedctl(stage: &Stage, host: &SchedctlHost, words: &str, code: i32) -> anyhow::Result<()> {
    let said = stage.run(&format!("\nnode1 # schedctl {words}"), || {
        host.schedctl(&words.split(' ').collect::<Vec<_>>())
    })??;
    stage.say(said.text().trim_end())?;
    let status = said.status;
    ensure!(
        status == code,
        "schedctl {words} ended with {status}, not {code}"
    );
    Ok(())
}
