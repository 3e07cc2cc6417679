//! The first half of the demo: sked in the cluster, from `make deploy` to the kernel and back.

use std::path::Path;

use anyhow::ensure;
use lab::{Lab, command, operator};

use crate::stage::{NOTHING, Stage};

const SCHEDEXT: &str = "lab/examples/demo/schedext.yaml";
/// The node's report has reached the cluster.
const ATTACHED: &str = r#"wait schedext/scx-lab --for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Attached --timeout=120s"#;
/// So has the ejection, with its reason.
const EJECTED: &str =
    "wait schedext/scx-lab --for=jsonpath={.status.problems[0].reason}=Stall --timeout=120s";
/// A scheduler that stops running a task after a while.
const STALL: &str =
    r#"{"spec":{"args":["--fault","stall","--after","15s"],"watchdogTimeout":"2s"}}"#;
const PROBLEM: &str = "get schedext scx-lab -o jsonpath={.status.problems[0].message}";
const SYSTEM: &str = "sked-system";

pub(crate) fn run(stage: &mut Stage, lab: &Lab, program: &Path) -> anyhow::Result<()> {
    stage.kubectl(lab, "get nodes")?;
    deploy(stage, lab, program)?;

    stage.title("Before: the kernel runs its default scheduler")?;
    stage.kernel(lab, "disabled", NOTHING)?;

    stage.title("A SchedExt names the scheduler, and sked creates a DaemonSet for it")?;
    stage.say(include_str!("schedext.yaml").trim_end())?;
    stage.kubectl(lab, &format!("apply -f {SCHEDEXT}"))?;
    stage.await_kernel(lab, "enabled")?;
    stage.await_cluster(lab, "waiting until the node has reported it", ATTACHED)?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;
    stage.kubectl(lab, "get daemonsets,pods")?;

    stage.title("During: the kernel reports it as attached")?;
    stage.kernel(lab, "enabled", "lab")?;

    stage.title("A version that stalls: the kernel ejects it, and the SchedExt says why")?;
    stage.kubectl(
        lab,
        &format!("patch schedext scx-lab --type=merge -p {STALL}"),
    )?;
    stage.await_cluster(lab, "waiting until the kernel has ejected it", EJECTED)?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;
    stage.kubectl(lab, PROBLEM)?;

    stage.title("The spec is corrected, and the kernel runs it again")?;
    stage.kubectl(
        lab,
        r#"patch schedext scx-lab --type=merge -p {"spec":{"args":null}}"#,
    )?;
    stage.await_cluster(lab, "waiting until the kernel runs it", ATTACHED)?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;

    stage.title("Deleting the SchedExt detaches its scheduler")?;
    stage.kubectl(lab, "delete schedext scx-lab")?;
    stage.await_kernel(lab, "disabled")?;

    stage.title("After: the kernel runs its default scheduler again")?;
    stage.kernel(lab, "disabled", NOTHING)?;
    stage.on_node(lab, "dmesg | grep sched_ext")?;

    stage.title("sked is removed")?;
    make(stage, lab, &["undeploy"], "deleted")
}

/// sked's image into the registry, sked into the cluster.
fn deploy(stage: &mut Stage, lab: &Lab, program: &Path) -> anyhow::Result<()> {
    stage.title("sked is installed: its image is pushed to a registry, then make deploy")?;
    let image = stage.step("pushing sked's image", || {
        operator::push(lab, program, "demo")
    })?;
    make(stage, lab, &["deploy", &format!("IMG={image}")], "created")?;
    let rollout = format!("rollout status deployment/sked-controller-manager -n {SYSTEM}");
    stage.await_cluster(lab, "waiting until the manager is ready", &rollout)?;
    stage.kubectl(lab, &format!("get pods -n {SYSTEM}"))
}

/// A target of the Makefile, whose output has a line per object.
fn make(stage: &Stage, lab: &Lab, args: &[&str], result: &str) -> anyhow::Result<()> {
    let command = format!("$ make {}", args.join(" "));
    let mut make = operator::make(lab, args)?;
    let output = stage.run(&command, || command::read(&mut make))??;
    let objects = output.lines().filter(|line| line.contains(result)).count();
    ensure!(objects > 0, "{command}: nothing was {result}: {output}");
    stage.say(&format!("{objects} objects {result}"))
}
