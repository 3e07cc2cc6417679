//! The fault course before real kernels, and shorter: the manager is killed again and again while
//! SchedExts that want the same two nodes come, go and change their priority. In the end each
//! node's kernel has what the priorities say, and no kernel was ever asked for a second scheduler
//! while it had one.
//!
//! The kernels' own notes are the witness ([`attaches`]); that they would tell is shown by one
//! second attach on purpose. Proves nothing about scale or about an API server in trouble: see
//! `tests/faults`.

#![cfg(test)]

mod attaches;
mod cluster;
mod endings;
#[path = "../faults/seed.rs"]
mod seed;
mod wishes;

use std::time::{Duration, Instant};

use attaches::Attaches;
use cluster::Cluster;
use endings::Endings;
use seed::Seed;
use wishes::Wishes;

/// How long the managers are killed.
const COURSE: Duration = Duration::from_secs(90);
/// One kill in so many comes with a change: a node needs seconds to follow.
const CHANGE: u64 = 10;

#[tokio::test]
async fn no_kernel_is_asked_for_a_second_scheduler() {
    let cluster = Cluster::up("test-two-kernels").await;
    cluster.nodes().iter().for_each(attaches::watch);
    let endings = Endings::watch(cluster.pods());
    let mut seed = Seed::new();
    let mut wishes = Wishes::begin(cluster.schedexts()).await;
    settles(&cluster, &wishes).await;

    let begin = Instant::now();
    let mut killed = 0;
    while begin.elapsed() < COURSE {
        let manager = cluster.manager();
        if seed.below(CHANGE) == 0 {
            wishes.change(&mut seed).await;
        }
        tokio::time::sleep(Duration::from_millis(200 + seed.below(600))).await;
        drop(manager);
        killed += 1;
    }
    let changed = wishes.made;
    println!("{killed} managers were killed, {changed} changes made");
    nobody_was_refused(&cluster);

    wishes.part_the_nodes().await;
    settles(&cluster, &wishes).await;
    nobody_was_refused(&cluster);
    every_attach_was_noted(&cluster);
    let fallen = endings.finish().await;
    assert_eq!(fallen, Vec::<String>::new(), "schedulers that fell");
    the_kernel_would_have_told(&cluster).await;
}

/// A manager that nobody disturbs gets the cluster to where it should be.
async fn settles(cluster: &Cluster, wishes: &Wishes) {
    let manager = cluster.manager();
    cluster.until_settled(wishes).await;
    drop(manager);
}

fn nobody_was_refused(cluster: &Cluster) {
    for node in cluster.nodes() {
        let (name, asked) = (node.name(), Attaches::of(&node));
        println!("{name}: {asked:?}, {:?}", attaches::names(&node));
        let refused = (asked.busy, asked.failed);
        assert_eq!(refused, (0, vec![]), "{name} refused an attach");
    }
}

/// The kernels' own count, which holds once nothing moves any more.
fn every_attach_was_noted(cluster: &Cluster) {
    for node in cluster.nodes() {
        let (name, asked) = (node.name(), Attaches::of(&node));
        assert_eq!(asked.taken, attaches::count(&node), "{name} counts others");
    }
}

/// A second attach on purpose: the kernel notes that it refused it, and the scheduler says so.
async fn the_kernel_would_have_told(cluster: &Cluster) {
    let node = &cluster.nodes()[0];
    let (before, mark) = (Attaches::of(node), node.mark("by hand").unwrap());
    let said = cluster.attach_by_hand(node.name()).await;
    assert!(
        said.contains("another sched_ext scheduler is already running"),
        "{said}"
    );
    let expected = Attaches { busy: 1, ..before };
    assert_eq!(Attaches::of(node), expected);
    let log = node.kernel_log().unwrap();
    let since = log.iter().filter(|line| line.at > mark.at);
    let log: Vec<_> = since
        .filter(|line| line.text.contains("sched_ext"))
        .collect();
    println!("a second attach by hand: {said:?}; in the kernel's log since: {log:?}");
}
