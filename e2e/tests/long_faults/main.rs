//! The soak test with faults: the manager is killed again and again while specs change, nodes change
//! their labels, the API server answers with errors, drops watches, is away for a while, or is
//! stopped and started for everybody. In the end the cluster is what was asked for, and at no moment
//! two schedulers' pods were on one node.
//!
//! On a real API server, controller manager and scheduler; kwok takes the place of kubelets. Errors are
//! injected by a proxy ([`proxy`]) between the manager and the API server, since a real one does
//! not produce them on demand; nobody else goes through it. Outages are real.

#![cfg(test)]

mod changes;
mod cluster;
mod fleet;
mod manager;
mod proxy;
mod recorder;
mod rollout_kills;

use std::cell::Cell;
use std::time::{Duration, Instant};

use changes::Changes;
use cluster::Cluster;
use kube::Api;
use lab::StopSignal;
use manager::Manager;
use proxy::{Faults, Proxy};
use recorder::{Record, Recorder};
use testkit::seed::Seed;

/// How long the faults go on.
const SOAK: Duration = Duration::from_secs(120);
/// How long a manager lives until it is killed, and the time between two changes.
const LIFE: Duration = Duration::from_millis(200);
/// How the API server is stopped each time. After SIGTERM it takes a minute, in which watches live on
/// and new requests are refused.
const OUTAGES: [StopSignal; 6] = [
    StopSignal::Kill,
    StopSignal::Term,
    StopSignal::Kill,
    StopSignal::Kill,
    StopSignal::Term,
    StopSignal::Kill,
];

async fn begin(cluster: &Cluster) -> (Changes, Recorder) {
    let nodes = Api::all(cluster.client.clone());
    let changes = Changes::begin(cluster.schedexts(), nodes, Seed::from_environment()).await;
    (changes, Recorder::start(cluster).await)
}

#[tokio::test]
async fn a_manager_that_is_killed_all_the_time_converges() {
    let cluster = Cluster::up("e2e-faults-kill").await;
    let (mut changes, recorder) = begin(&cluster).await;
    let begin = Instant::now();
    let mut killed = 0;
    while begin.elapsed() < SOAK {
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
    let cluster = Cluster::up("e2e-faults-proxy").await;
    let (mut changes, recorder) = begin(&cluster).await;
    let proxy = Proxy::start(&cluster.client).await;
    let kubeconfig = cluster.file("proxy.kubeconfig");
    proxy.kubeconfig(&kubeconfig);
    let mut manager = cluster.manager(&kubeconfig);
    let begin = Instant::now();
    proxy.inject(Faults::MANY);
    while begin.elapsed() < SOAK {
        let elapsed = begin.elapsed();
        // Away for the third quarter.
        let away = elapsed > SOAK / 2 && elapsed < SOAK * 3 / 4;
        proxy.inject(if away { Faults::AWAY } else { Faults::MANY });
        changes.one().await;
        tokio::time::sleep(LIFE).await;
        manager.assert_running();
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
    let cluster = Cluster::up("e2e-faults-outage").await;
    let (mut changes, recorder) = begin(&cluster).await;
    let mut manager = cluster.manager(&cluster.kubeconfig());
    // Kubernetes' own controllers give up when nobody answers at their start.
    cluster.until_settled(&changes).await;
    let mut seed = Seed::from_environment();
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
            manager.assert_running();
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

/// Resource versions go back, and those that the manager has seen are given to other objects.
#[tokio::test]
async fn a_restored_backup_of_etcd_is_noticed() {
    let cluster = Cluster::up("e2e-faults-restore").await;
    let (mut changes, recorder) = begin(&cluster).await;
    // It does not know of versions that go back.
    drop(recorder);
    let mut manager = cluster.manager(&cluster.kubeconfig());
    cluster.until_settled(&changes).await;
    cluster.until_quiet().await;
    let backup = changes.wanted();
    cluster.copy_etcd("etcd", "etcd-backup").await;
    for _ in 0..50 {
        changes.one().await;
    }
    cluster.until_settled(&changes).await;

    cluster.copy_etcd("etcd-backup", "etcd").await;
    changes.restored(backup);
    for _ in 0..5 {
        changes.one().await;
    }
    cluster.until_settled(&changes).await;
    cluster.until_quiet().await;
    manager.assert_running();
}

/// An undisturbed manager brings the cluster to the wanted state; the next one finds nothing to do.
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
    manager.assert_running();
    drop(manager);
    let before = cluster.writes().await;
    let events = before.keys().any(|what| what.starts_with("event "));
    assert!(events, "no event of ours: {before:?}");
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
    assert_eq!(
        record.two_on_one_node,
        Vec::<String>::new(),
        "two pods on one node"
    );
    assert_eq!(
        record.vanished,
        Vec::<String>::new(),
        "DaemonSets that were deleted although they were wanted"
    );
    record
}
