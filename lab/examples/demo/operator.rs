//! The first half of the demo: sked in the cluster, from `make deploy` to the kernel and back.

use std::path::Path;

use anyhow::ensure;
use lab::{Lab, command, operator};

use crate::stage::{NOBODY, Stage};

const SCHEDEXT: &str = "lab/examples/demo/schedext.yaml";
/// The kernel's word has reached the cluster.
const ATTACHED: &str = r#"wait schedext/scx-lab --for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Attached --timeout=120s"#;
/// So has its word that it threw the scheduler out, and why.
const EJECTED: &str =
    "wait schedext/scx-lab --for=jsonpath={.status.problems[0].reason}=Stall --timeout=120s";
/// A scheduler that leaves a task waiting, once it has run for a while.
const STALL: &str =
    r#"{"spec":{"args":["--fault","stall","--after","15s"],"watchdogTimeout":"2s"}}"#;
const PROBLEM: &str = "get schedext scx-lab -o jsonpath={.status.problems[0].message}";
const SYSTEM: &str = "sked-system";

pub(crate) fn story(stage: &mut Stage, lab: &Lab, program: &Path) -> anyhow::Result<()> {
    stage.kubectl(lab, "get nodes")?;
    deploy(stage, lab, program)?;

    stage.title("Before: the kernel runs its own scheduler")?;
    stage.kernel(lab, "disabled", NOBODY)?;

    stage.title("A SchedExt says which scheduler runs, and sked makes a DaemonSet of it")?;
    stage.say(include_str!("schedext.yaml").trim_end())?;
    stage.kubectl(lab, &format!("apply -f {SCHEDEXT}"))?;
    stage.await_kernel(lab, "enabled")?;
    stage.await_cluster(
        lab,
        "waiting until the kernel's word is in the cluster",
        ATTACHED,
    )?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;
    stage.kubectl(lab, "get daemonsets,pods")?;

    stage.title("During: attached, by the kernel's own word")?;
    stage.kernel(lab, "enabled", "lab")?;

    stage.title("A version that stalls: the kernel throws it out, and the SchedExt says why")?;
    stage.kubectl(
        lab,
        &format!("patch schedext scx-lab --type=merge -p {STALL}"),
    )?;
    stage.await_cluster(
        lab,
        "waiting until the kernel has had enough of it",
        EJECTED,
    )?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;
    stage.kubectl(lab, PROBLEM)?;

    stage.title("The spec is put right, and the kernel runs it again")?;
    stage.kubectl(
        lab,
        r#"patch schedext scx-lab --type=merge -p {"spec":{"args":null}}"#,
    )?;
    stage.await_cluster(lab, "waiting until the kernel runs it", ATTACHED)?;
    stage.kubectl(lab, "get schedexts,schedextnodes")?;

    stage.title("The SchedExt goes, and its scheduler with it")?;
    stage.kubectl(lab, "delete schedext scx-lab")?;
    stage.await_kernel(lab, "disabled")?;

    stage.title("After: the kernel is back on its own scheduler")?;
    stage.kernel(lab, "disabled", NOBODY)?;
    stage.on_node(lab, "dmesg | grep sched_ext")?;

    stage.title("sked goes, too")?;
    make(stage, lab, &["undeploy"], "deleted")
}

/// sked's image into the registry, sked into the cluster.
fn deploy(stage: &mut Stage, lab: &Lab, program: &Path) -> anyhow::Result<()> {
    stage.title("sked goes into the cluster: its image into a registry, then make deploy")?;
    let image = stage.step("pushing sked's image", || {
        operator::push(lab, program, "demo")
    })?;
    make(stage, lab, &["deploy", &format!("IMG={image}")], "created")?;
    let rollout = format!("rollout status deployment/sked-controller-manager -n {SYSTEM}");
    stage.await_cluster(lab, "waiting until the manager is ready", &rollout)?;
    stage.kubectl(lab, &format!("get pods -n {SYSTEM}"))
}

/// A target of the Makefile, which says about each object what became of it.
fn make(stage: &Stage, lab: &Lab, words: &[&str], became: &str) -> anyhow::Result<()> {
    let command = format!("$ make {}", words.join(" "));
    let mut make = operator::make(lab, words)?;
    let said = stage.run(&command, || command::read(&mut make))??;
    let objects = said.lines().filter(|line| line.contains(became)).count();
    ensure!(objects > 0, "{command}: nothing was {became}: {said}");
    stage.say(&format!("{objects} objects {became}"))
}
