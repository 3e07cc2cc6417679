//! The fault course: the manager is killed again and again while specs change, nodes change their
//! labels, the API server answers with errors, drops watches, is away for a while, or is stopped
//! and started for everybody. In the end the cluster is what was asked for, and at no moment two
//! schedulers' pods were on one node.
//!
//! On a real API server, controller manager and scheduler; kwok plays the kubelets. Errors are
//! injected by a proxy ([`proxy`]) between the manager and the API server, since a real one cannot
//! be made to produce them on order; nobody else goes through it. Outages are real.

#![cfg(test)]

mod changes;
mod cluster;
mod manager;
mod proxy;
mod recorder;
mod seed;

use std::cell::Cell;
use std::time::{Duration, Instant};

use changes::Changes;
use cluster::Cluster;
use lab::StopSignal;
use manager::Manager;
use proxy::{Faults, Proxy};
use recorder::{Record, Recorder};
use seed::Seed;

/// How long the course goes; every manager in it lives this long.
const COURSE: Duration = Duration::from_secs(120);
const LIFE: Duration = Duration::from_millis(200);
/// How the API server is stopped each time. One that is asked to end takes a minute, in which
/// watches live on and nobody else is answered.
const OUTAGES: [StopSignal; 6] = [
    StopSignal::Kill,
    StopSignal::Term,
    StopSignal::Kill,
    StopSignal::Kill,
    StopSignal::Term,
    StopSignal::Kill,
];

#[tokio::test]
async fn a_manager_that_is_killed_all_the_time_gets_there_all_the_same() {
    let cluster = Cluster::up("test-faults-kill").await;
    let mut changes = Changes::begin(&cluster, Seed::new()).await;
    let recorder = Recorder::start(&cluster).await;
    let begin = Instant::now();
    let mut killed = 0;
    while begin.elapsed() < COURSE {
        let manager = cluster.manager(&cluster.kubeconfig());
        changes.one().await;
        tokio::time::sleep(LIFE).await;
        drop(manager);
        killed += 1;
    }
    println!(
        "{killed} managers were killed, {} changes made",
        changes.made
    );
    let manager = cluster.manager(&cluster.kubeconfig());
    settles(&cluster, &changes, recorder, manager).await;
}

#[tokio::test]
async fn errors_dropped_watches_and_an_api_server_that_is_away_are_survived() {
    let cluster = Cluster::up("test-faults-proxy").await;
    let mut changes = Changes::begin(&cluster, Seed::new()).await;
    let recorder = Recorder::start(&cluster).await;
    let proxy = Proxy::start(&cluster.client).await;
    let mut manager = cluster.manager(&proxy.kubeconfig(&cluster));
    let begin = Instant::now();
    proxy.inject(Faults::MANY);
    while begin.elapsed() < COURSE {
        let elapsed = begin.elapsed();
        // Away for the third quarter of the course.
        let away = elapsed > COURSE / 2 && elapsed < COURSE * 3 / 4;
        proxy.inject(if away { Faults::AWAY } else { Faults::MANY });
        changes.one().await;
        tokio::time::sleep(LIFE).await;
        manager.lives();
    }
    println!(
        "{} faults injected, {} changes made",
        proxy.injected(),
        changes.made
    );
    assert!(proxy.injected() > 0);
    drop(manager);
    let manager = cluster.manager(&cluster.kubeconfig());
    settles(&cluster, &changes, recorder, manager).await;
}

#[tokio::test]
async fn an_api_server_that_is_stopped_and_started_is_survived() {
    let cluster = Cluster::up("test-faults-outage").await;
    let mut changes = Changes::begin(&cluster, Seed::new()).await;
    let recorder = Recorder::start(&cluster).await;
    let mut manager = cluster.manager(&cluster.kubeconfig());
    // Kubernetes' own controllers give up when nobody answers at their start.
    cluster.until_settled(&changes).await;
    let mut seed = Seed::new();
    let begin = Instant::now();
    let mut outages = Vec::new();
    let over = Cell::new(false);
    let stopping = async {
        for ending in OUTAGES {
            tokio::time::sleep(Duration::from_millis(10_000 + seed.below(20_000))).await;
            let away = Duration::from_millis(seed.below(5000));
            let since = Instant::now();
            cluster.without_api_server(ending, away).await;
            outages.push((ending, since.elapsed()));
        }
        over.set(true);
    };
    let changing = async {
        while !over.get() {
            changes.one().await;
            tokio::time::sleep(LIFE).await;
            manager.lives();
        }
    };
    tokio::join!(stopping, changing);
    let (restarts, took) = (outages.len(), begin.elapsed());
    println!(
        "{restarts} restarts in {took:?}, {} changes made: {outages:?}",
        changes.made
    );
    let record = settles(&cluster, &changes, recorder, manager).await;
    assert!(
        record.lists > 1,
        "the recorder lost no watch: nothing was stopped"
    );
}

/// A manager that nobody disturbs any more gets the cluster to where it should be; the next one
/// finds nothing to do.
async fn settles(
    cluster: &Cluster,
    changes: &Changes,
    recorder: Recorder,
    mut manager: Manager,
) -> Record {
    let begin = Instant::now();
    cluster.until_settled(changes).await;
    println!("settled after {:?}", begin.elapsed());
    cluster.until_quiet().await;
    manager.lives();
    drop(manager);
    let before = cluster.writes().await;
    let told = before.keys().any(|what| what.starts_with("event "));
    assert!(told, "no event of ours: {before:?}");
    let manager = cluster.manager(&cluster.kubeconfig());
    tokio::time::sleep(Duration::from_secs(15)).await;
    drop(manager);
    assert_eq!(
        cluster.writes().await,
        before,
        "the next one wrote something"
    );
    let record = recorder.finish().await;
    println!("{record:?}");
    assert_eq!(record.crowded, Vec::<String>::new(), "two pods on one node");
    assert_eq!(
        record.vanished,
        Vec::<String>::new(),
        "DaemonSets that were deleted although they were wanted"
    );
    record
}
