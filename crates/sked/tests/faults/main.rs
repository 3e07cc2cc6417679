//! The fault course: the manager is killed again and again while specs change, nodes change their
//! labels, the API server answers with errors, drops watches and is away for a while. In the end
//! the cluster is what was asked for, and at no moment two schedulers' pods were on one node.
//!
//! On a real API server, controller manager and scheduler; kwok plays the kubelets. The faults are
//! injected by a proxy ([`proxy`]) between the manager and the API server, since a real one cannot
//! be made to produce them on order; nobody else goes through it.

#![cfg(test)]

mod changes;
mod cluster;
mod proxy;
mod recorder;
mod seed;

use std::process::Child;
use std::time::{Duration, Instant};

use changes::Changes;
use cluster::Cluster;
use proxy::{Faults, Proxy};
use recorder::Recorder;
use seed::Seed;

/// How long the course goes; every manager in it lives this long.
const COURSE: Duration = Duration::from_secs(120);
const LIFE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_manager_that_is_killed_all_the_time_gets_there_all_the_same() {
    let cluster = Cluster::up("test-faults-kill").await;
    let mut changes = Changes::begin(&cluster, Seed::new()).await;
    let recorder = Recorder::start(&cluster).await;
    let begin = Instant::now();
    let mut killed = 0;
    while begin.elapsed() < COURSE {
        let mut manager = cluster.manager(&cluster.kubeconfig());
        changes.one().await;
        tokio::time::sleep(LIFE).await;
        end(&mut manager);
        killed += 1;
    }
    println!(
        "{killed} managers were killed, {} changes made",
        changes.made
    );
    settles(&cluster, &changes, recorder).await;
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
        let ended = manager.try_wait().unwrap();
        assert!(ended.is_none(), "the manager ended: {ended:?}");
    }
    println!(
        "{} faults injected, {} changes made",
        proxy.injected(),
        changes.made
    );
    assert!(proxy.injected() > 0);
    end(&mut manager);
    settles(&cluster, &changes, recorder).await;
}

/// A manager that nobody disturbs gets the cluster to where it should be; the next one finds
/// nothing to do.
async fn settles(cluster: &Cluster, changes: &Changes, recorder: Recorder) {
    let mut manager = cluster.manager(&cluster.kubeconfig());
    cluster.until_settled(changes).await;
    cluster.until_quiet().await;
    end(&mut manager);
    let before = cluster.writes().await;
    let mut manager = cluster.manager(&cluster.kubeconfig());
    tokio::time::sleep(Duration::from_secs(15)).await;
    end(&mut manager);
    assert_eq!(
        cluster.writes().await,
        before,
        "the next one wrote something"
    );
    let record = recorder.finish().await;
    assert_eq!(record.crowded, Vec::<String>::new(), "two pods on one node");
    assert_eq!(
        record.vanished,
        Vec::<String>::new(),
        "DaemonSets that were deleted although they were wanted"
    );
    println!("{record:?}");
}

/// As an out-of-memory killer would.
fn end(manager: &mut Child) {
    let _ = manager.kill();
    let _ = manager.wait();
}
