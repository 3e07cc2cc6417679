//! How soon a version that stalls on the canary is taken back: from the kernel's line that it ejected
//! it to kubelet's report of the end, from there to the record of the decision, and from there to the
//! kernel's line that it attached the first version again, beside a plain start of that version.
//!
//! Only kubelet's report has the reason of the end, and one that is benign decides nothing
//! (design/0013): the limit is on what sked adds.

use std::time::Instant;

use serde_json::{Value, json};
use sked_api::RolloutPhase;
use testkit::bench::command::median;
use testkit::bench::figures::{beside, within};
use testkit::node_cluster::{ATTACHED, spec};
use testkit::nodes::NODES;

use crate::Bench;
use crate::recorder::Event;

const SAMPLES: usize = 3;
/// From kubelet's report.
const MOST_UNTIL_DECISION: f64 = 1.0;
const MOST_OF_PLAIN_START: f64 = 1.2;

pub(crate) fn measure(bench: &Bench) -> anyhow::Result<bool> {
    let [mut plain, mut reported, mut decision, mut back] = [const { Vec::new() }; 4];
    for _ in 0..SAMPLES {
        let node = NODES[0];
        bench.cluster.kubectl(&["delete", "schedext", "lab"]);
        for node in NODES {
            bench.cluster.await_kernel_state(node, "disabled");
        }
        let begin = Instant::now();
        bench.cluster.apply_schedext("lab", &good());
        plain.push((attached(bench, node, begin, "lab") - begin).as_secs_f64());
        bench.cluster.await_condition("lab", "Ready", ATTACHED);

        let begin = Instant::now();
        bench.cluster.apply_schedext("lab", &stalling());
        let ejected = bench.cluster.until("the kernel ejects it", || {
            let is = |event: &Event| matches!(event, Event::Kernel(why) if why.contains("stall"));
            bench.recorder.first(node, begin, is)
        });
        let ended = bench.cluster.until("kubelet reports the end", || {
            bench
                .recorder
                .first(node, ejected, |event| *event == Event::Ended)
        });
        let decided = bench.cluster.until("the roll-out goes back", || {
            let is = |event: &Event| *event == Event::Phase(Some(RolloutPhase::RolledBack));
            bench.recorder.first(node, ejected, is)
        });
        let again = attached(bench, node, decided, "lab");
        reported.push((ended - ejected).as_secs_f64());
        decision.push((decided - ended).as_secs_f64());
        back.push((again - decided).as_secs_f64());
        bench
            .cluster
            .await_condition("lab", "Ready", "False/RolledBack");
    }
    println!(
        "plain starts {plain:.2?} s, kubelet's reports {reported:.2?} s, decisions {decision:.2?} s, back {back:.2?} s"
    );
    println!(
        "ejected, then decided to go back: {:.2} s",
        median(reported.clone()) + median(decision.clone())
    );
    let mut met = within(
        "kubelet reported the end, then decided to go back",
        "s",
        median(decision),
        MOST_UNTIL_DECISION,
    )?;
    met &= beside(
        "decided, then the first version is attached",
        "s",
        median(back),
        ("plain start", median(plain)),
        MOST_OF_PLAIN_START,
    )?;
    Ok(met)
}

/// When a node's kernel attached a scheduler with this name.
fn attached(bench: &Bench, node: &str, after: Instant, name: &str) -> Instant {
    bench.cluster.until("the kernel attaches it", || {
        let is = |event: &Event| matches!(event, Event::Attached(ops) if ops.starts_with(name));
        bench.recorder.first(node, after, is)
    })
}

fn good() -> Value {
    let mut spec = spec(&[]);
    spec["rollout"] = json!({"soak": "30s", "canary": {"nodes": 1}});
    spec
}

fn stalling() -> Value {
    let mut stalling = good();
    let args = [
        "--name",
        "stall",
        "--fault",
        "stall",
        "--timeout",
        "2s",
        "--after",
        "10s",
    ];
    stalling["args"] = json!(args);
    stalling
}
