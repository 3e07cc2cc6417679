//! The manager is killed again and again while SchedExts that want the same two nodes are created,
//! deleted and change their priority. In the end each node's kernel runs what the priorities
//! require, and no kernel was ever asked for a second scheduler while it had one.
//!
//! The evidence is what the kernels trace ([`attach_trace`]); that they would show it is tested with
//! one second attach on purpose. Proves nothing about scale or about an API server in trouble: see
//! the suite of faults on a control plane.

#![cfg(test)]

mod attach_trace;
mod crashed_containers;
mod fixture;
mod requests;

use std::time::{Duration, Instant};

use attach_trace::Attaches;
use crashed_containers::CrashedContainers;
use fixture::TwoNodes;
use requests::Requests;
use testkit::seed::Seed;

/// How long managers are killed.
const DURATION: Duration = Duration::from_secs(90);
/// One kill in so many comes with a change: a node needs seconds to follow.
const CHANGE: u64 = 10;

#[tokio::test]
async fn no_kernel_is_asked_for_a_second_scheduler() {
    let cluster = TwoNodes::up().await;
    cluster.nodes().iter().for_each(attach_trace::start);
    let crashed = CrashedContainers::watch(cluster.pods());
    let mut seed = Seed::from_environment();
    let mut requests = Requests::begin(cluster.schedexts()).await;
    settles(&cluster, &requests).await;

    let begin = Instant::now();
    let mut killed = 0;
    while begin.elapsed() < DURATION {
        let manager = cluster.manager();
        if seed.below(CHANGE) == 0 {
            requests.change(&mut seed).await;
        }
        tokio::time::sleep(Duration::from_millis(200 + seed.below(600))).await;
        drop(manager);
        killed += 1;
    }
    let changed = requests.made;
    println!("{killed} managers were killed, {changed} changes made");
    no_attach_was_rejected(&cluster);

    requests.split_the_nodes().await;
    settles(&cluster, &requests).await;
    no_attach_was_rejected(&cluster);
    every_attach_was_traced(&cluster);
    let crashed = crashed.finish().await;
    assert_eq!(crashed, Vec::<String>::new(), "schedulers that crashed");
    the_trace_shows_a_rejected_attach(&cluster).await;
}

/// A manager that is not killed gets the cluster to where it should be.
async fn settles(cluster: &TwoNodes, requests: &Requests) {
    let manager = cluster.manager();
    cluster.until_settled(requests).await;
    drop(manager);
}

fn no_attach_was_rejected(cluster: &TwoNodes) {
    for node in cluster.nodes() {
        let (name, asked) = (node.name(), Attaches::of(&node));
        println!("{name}: {asked:?}, {:?}", attach_trace::names(&node));
        let rejected = (asked.busy, asked.failed);
        assert_eq!(rejected, (0, vec![]), "{name} rejected an attach");
    }
}

/// The kernels' own count agrees with the trace once nothing changes any more.
fn every_attach_was_traced(cluster: &TwoNodes) {
    for node in cluster.nodes() {
        let (name, asked) = (node.name(), Attaches::of(&node));
        assert_eq!(
            asked.attached,
            attach_trace::count(&node),
            "{name} counts differently"
        );
    }
}

/// A second attach on purpose: the trace and the scheduler's output show that it was rejected.
async fn the_trace_shows_a_rejected_attach(cluster: &TwoNodes) {
    let node = &cluster.nodes()[0];
    let (before, mark) = (Attaches::of(node), node.mark("by hand").unwrap());
    let output = cluster.attach_by_hand(node.name()).await;
    assert!(
        output.contains("another sched_ext scheduler is already running"),
        "{output}"
    );
    let expected = Attaches { busy: 1, ..before };
    assert_eq!(Attaches::of(node), expected);
    let log = node.kernel_log().unwrap();
    let since = log.iter().filter(|line| line.at > mark.at);
    let log: Vec<_> = since
        .filter(|line| line.text.contains("sched_ext"))
        .collect();
    println!("a second attach by hand: {output:?}; in the kernel's log since: {log:?}");
}
