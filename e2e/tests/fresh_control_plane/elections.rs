//! Several managers and one lease: who leads when the leader is killed, stops, or is suspended and
//! resumed.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::manager::free_port;
use testkit::{Cluster, Manager};

use crate::install::fixture::installed;

/// A namespace with a lease, and SchedExts that its managers work on.
struct Election<'a> {
    cluster: &'a Cluster,
    namespace: &'static str,
}

impl Election<'_> {
    fn candidate(&self) -> Manager {
        self.candidate_with(&[])
    }

    fn candidate_with(&self, more: &[&str]) -> Manager {
        let namespace = self.namespace;
        let lease = format!("--leader-election-namespace={namespace}");
        let watched = format!("--watch-namespaces={namespace}");
        let args = ["--leader-elect", &lease, &watched];
        self.cluster.ready_manager(&[&args[..], more].concat())
    }

    fn leader(&self) -> Manager {
        let manager = self.candidate();
        manager.eventually("it leads", || leads(&manager));
        manager
    }

    fn holder(&self) -> String {
        let lease = "lease/b4c95cb3.schedkit.io";
        let holder = self
            .cluster
            .field(self.namespace, lease, "/spec/holderIdentity");
        holder.as_str().unwrap_or_default().to_owned()
    }

    fn schedext(&self, image: &str) {
        let spec = json!({"sched": image});
        self.cluster.schedext(self.namespace, "a", &spec);
    }

    fn image(&self) -> Value {
        let image = "/spec/template/spec/containers/0/image";
        self.cluster.field(self.namespace, "daemonset/a", image)
    }
}

fn leads(manager: &Manager) -> bool {
    manager.log().contains("\"this manager is the leader\"")
}

/// A lease lasts a quarter of a minute, so the two that wait for its end do so at the same time.
#[test]
fn a_leader_that_does_not_renew_its_lease_is_succeeded() {
    let cluster = installed();
    let [killed, suspended] = ["leader-killed", "leader-suspended"].map(|namespace| {
        cluster.namespace(namespace);
        Election {
            cluster: &cluster,
            namespace,
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| a_killed_leader_is_succeeded(&killed));
        scope.spawn(|| a_suspended_leader_writes_nothing_afterwards_and_ends(&suspended));
    });
}

fn a_killed_leader_is_succeeded(election: &Election<'_>) {
    let one = election.leader();
    let first = election.holder();
    let two = election.candidate();
    two.eventually("it logs who leads", || two.log().contains(&first));
    assert!(!leads(&two), "ready, and waiting");
    one.signal("KILL");
    two.eventually("the second takes over", || leads(&two));
    assert_ne!(election.holder(), first);
    election.schedext("a:1");
    two.eventually("and works", || election.image() == "a:1");
    two.stop();
}

fn a_suspended_leader_writes_nothing_afterwards_and_ends(election: &Election<'_>) {
    let mut one = election.leader();
    election.schedext("a:1");
    one.eventually("it works", || election.image() == "a:1");
    one.signal("STOP");
    let two = election.candidate();
    two.eventually("the second takes over", || leads(&two));
    two.stop();
    // Nobody leads now, and there is work that the suspended one learns of when it resumes.
    election.schedext("a:2");
    let daemonset = ["delete", "-n", election.namespace, "daemonset/a"];
    election.cluster.kubectl(&daemonset);
    one.signal("CONT");
    let status = one.wait();
    assert!(!status.success(), "it reports that it lost the lease");
    assert!(one.log().contains("was lost"), "{}", one.log());
    thread::sleep(Duration::from_secs(1));
    assert_eq!(election.image(), Value::Null, "it wrote nothing");
    assert_eq!(election.holder(), "", "and did not take the lease back");
}

#[test]
fn a_leader_that_stops_releases_its_lease() {
    let cluster = installed();
    cluster.namespace("leader-stops");
    let election = Election {
        cluster: &cluster,
        namespace: "leader-stops",
    };
    let one = election.leader();
    let first = election.holder();
    let port = free_port();
    let two = election.candidate_with(&[
        &format!("--metrics-bind-address=127.0.0.1:{port}"),
        "--metrics-secure=false",
    ]);
    election.schedext("a:1");
    one.eventually("the leader works", || election.image() == "a:1");
    // Nobody takes anything out of the queue of a manager that waits.
    let metrics = format!("http://127.0.0.1:{port}/metrics");
    let metrics = ureq::get(&metrics).call().unwrap();
    let metrics = metrics.into_body().read_to_string().unwrap();
    let depth = metrics
        .lines()
        .find(|line| line.starts_with("workqueue_depth{"));
    assert!(depth.is_some_and(|line| line.ends_with(" 0")), "{depth:?}");
    one.stop();
    // Empty, or the second was quick. A lease that was not released would name the first for
    // another quarter of a minute.
    assert_ne!(election.holder(), first, "the lease is released");
    two.eventually("the second takes over", || leads(&two));
    two.stop();
}
