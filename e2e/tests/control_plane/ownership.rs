//! Who owns a node does not change for a reason that passes by itself, that nobody understands, or
//! that somebody made up.

use std::thread::sleep;
use std::time::Duration;

use lab::StopSignal;
use serde_json::{Value, json};
use testkit::wait::TIMEOUT;
use testkit::{Cluster, KwokNodes, Manager, eventually};

use crate::daemonsets::NoSchema;

/// A service of the control plane that does not run meanwhile.
struct Stopped<'a> {
    cluster: &'a Cluster,
    service: &'static str,
}

impl<'a> Stopped<'a> {
    fn new(cluster: &'a Cluster, service: &'static str) -> Self {
        let lab = cluster.lab();
        lab.stop_service(service, StopSignal::Term).unwrap();
        Self { cluster, service }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.cluster.lab().start_service(self.service).unwrap();
    }
}

/// Two SchedExts that want the same node; the first one owns it.
fn contested(cluster: &Cluster, nodes: &KwokNodes<'_>, namespace: &str, manager: &Manager) {
    let spec = nodes.selecting_spec();
    cluster.schedext(namespace, "owner", &spec);
    manager.eventually("its pod runs", || {
        let counts = cluster.field(namespace, "schedext/owner", "/status/counts");
        counts["desired"] == 1 && counts["unknown"] == 1
    });
    let mut rival = spec;
    rival["tolerations"] = json!([{"operator": "Exists"}]);
    cluster.schedext(namespace, "rival", &rival);
    manager.eventually("the rival has lost", || {
        cluster.has_reason(namespace, "rival", "Conflicted", "OwnedByOther")
    });
    manager.eventually("the node has its label", || nodes.owners()[0].is_string());
}

#[test]
fn a_node_that_is_not_ready_keeps_its_owner() {
    let cluster = testkit::control_plane();
    cluster.namespace("unready");
    let nodes = KwokNodes::new(&cluster, "unready", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=unready"]);
    contested(&cluster, &nodes, "unready", &manager);
    let owners = nodes.owners();
    let desired = || cluster.field("unready", "schedext/owner", "/status/counts/desired");
    let taints = |taints: Value| {
        let taints = json!([{"op": "add", "path": "/spec/taints", "value": taints}]);
        cluster.patch("", "node/unready-0", &taints.to_string());
    };
    // Nobody else removes this one, and it evicts the pod.
    let key = "node.cloudprovider.kubernetes.io/shutdown";
    taints(json!([{"key": key, "effect": "NoExecute"}]));
    manager.eventually("no pod is wanted there now", || desired() == 0);
    assert_eq!(nodes.owners(), owners);
    assert!(cluster.has_reason("unready", "rival", "Conflicted", "OwnedByOther"));
    taints(json!([]));
    manager.eventually("its pod is wanted again", || desired() == 1);
    assert_eq!(nodes.owners(), owners);
    let log = manager.log();
    assert_eq!(log.matches("wrote owner labels").count(), 1, "{log}");
    manager.stop();
}

/// Both have a pod for a new node, and the one that loses it waits. Kubernetes' DaemonSet controller
/// does not look at a pod that is not bound when its node changes.
#[test]
fn on_a_new_node_the_older_one_wins_and_the_losers_pod_goes() {
    let cluster = testkit::control_plane();
    cluster.namespace("joined");
    let manager = cluster.ready_manager(&["--watch-namespaces=joined"]);
    let spec = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "joined"}});
    for name in ["older", "younger"] {
        cluster.schedext("joined", name, &spec);
        manager.eventually("its DaemonSet is there", || {
            cluster
                .get("joined", &format!("daemonset/{name}"))
                .is_some()
        });
        // Ages have whole seconds.
        sleep(Duration::from_secs(1));
    }
    manager.stop();
    let pods = || {
        let pods = cluster.list(&["pods", "-n", "joined"]);
        let of = |name: &str| {
            let pods = pods.iter();
            pods.filter(|pod| pod["metadata"]["labels"]["name"] == name)
                .count()
        };
        (of("older"), of("younger"))
    };
    let scheduler = Stopped::new(&cluster, "kube-scheduler");
    let nodes = KwokNodes::new(&cluster, "joined", 2);
    eventually("both have a pod for each node", TIMEOUT, || {
        (pods() == (2, 2)).then_some(())
    });
    let manager = cluster.ready_manager(&["--watch-namespaces=joined"]);
    manager.eventually("each node has one pod, of the older one", || {
        pods() == (2, 0)
    });
    assert!(nodes.owners().iter().all(Value::is_string));
    drop(scheduler);
    manager.stop();
}

#[test]
fn what_cannot_be_read_keeps_its_node() {
    let cluster = testkit::control_plane();
    cluster.namespace("newer");
    let nodes = KwokNodes::new(&cluster, "newer", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=newer"]);
    contested(&cluster, &nodes, "newer", &manager);
    let owners = nodes.owners();
    {
        let _schema = NoSchema::apply(&cluster);
        let newer = r#"[{"op": "add", "path": "/spec/priority", "value": {"class": "high"}}]"#;
        manager.eventually("the API server accepts anything", || {
            let patch = [
                "patch",
                "-n",
                "newer",
                "schedext/owner",
                "--type=json",
                "-p",
                newer,
            ];
            cluster.try_kubectl(&patch)
        });
        manager.eventually("it is reported", || {
            cluster.has_reason("newer", "owner", "Degraded", "InvalidSpec")
        });
        let first = r#"[{"op": "add", "path": "/spec/priority", "value": 9}]"#;
        cluster.patch("newer", "schedext/rival", first);
        manager.eventually("the rival asks with a higher priority", || {
            cluster.field("newer", "schedext/rival", "/status/observedGeneration") == 2
        });
        assert_eq!(nodes.owners(), owners);
        assert!(cluster.has_reason("newer", "rival", "Conflicted", "OwnedByOther"));
        let both = ["delete", "-n", "newer", "schedext", "owner", "rival"];
        cluster.kubectl(&both);
    }
    manager.stop();
}

/// Somebody who may create pods in one namespace writes the DaemonSet of another into one.
#[test]
fn a_forged_owner_reference_counts_for_nobody() {
    let cluster = testkit::control_plane();
    for namespace in ["forged", "forger"] {
        cluster.namespace(namespace);
    }
    let nodes = KwokNodes::new(&cluster, "forged", 1);
    let _other = KwokNodes::new(&cluster, "forger", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=forged,forger"]);
    cluster.schedext("forged", "a", &nodes.selecting_spec());
    let unknown = || cluster.field("forged", "schedext/a", "/status/counts/unknown");
    manager.eventually("its pod runs", || unknown() == 1);

    // The garbage collector strips such a reference, sooner or later.
    let collector = Stopped::new(&cluster, "kube-controller-manager");
    let uid = |what: &str| cluster.field("forger", what, "/metadata/uid");
    let configmap = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "mine", "namespace": "forger"}});
    cluster.apply(&configmap);
    let daemonset = cluster.field("forged", "daemonset/a", "/metadata/uid");
    let labels = cluster.field("forged", "daemonset/a", "/spec/template/metadata/labels");
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "forged", "namespace": "forger", "labels": labels,
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": daemonset, "controller": true},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": uid("configmap/mine")},
            ],
        },
        "spec": {
            "nodeName": "forger-0", "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "scx", "image": "registry.example/a:1"}],
        },
    }));
    manager.eventually("the forged pod runs", || {
        cluster.field("forger", "pod/forged", "/status/phase") == "Running"
    });
    // The status follows another change, so it was computed with the pod there.
    let args = r#"[{"op": "add", "path": "/spec/args", "value": ["-v"]}]"#;
    cluster.patch("forged", "schedext/a", args);
    manager.eventually("the change is observed", || {
        cluster.field("forged", "schedext/a", "/status/observedGeneration") == 2
    });
    sleep(Duration::from_secs(2));
    assert_eq!(unknown(), 1, "the forged pod counts");
    let gate = cluster.field("forger", "pod/forged", "/status/conditions");
    assert!(!gate.to_string().contains("sked.schedkit.io"), "{gate}");
    drop(collector);
    manager.stop();
}

/// The same one level up: a DaemonSet that names a SchedExt of another namespace as its controller.
/// The garbage collector strips the reference in the end, and the second owner keeps the object.
#[test]
fn a_forged_daemonset_counts_for_nobody() {
    let cluster = testkit::control_plane();
    for namespace in ["claimed", "claimer"] {
        cluster.namespace(namespace);
    }
    let nodes = KwokNodes::new(&cluster, "claimed", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=claimed,claimer"]);
    cluster.schedext("claimed", "a", &nodes.selecting_spec());
    let desired = || cluster.field("claimed", "schedext/a", "/status/counts/desired");
    manager.eventually("its pod is wanted", || desired() == 1);

    let configmap = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "mine", "namespace": "claimer"}});
    cluster.apply(&configmap);
    let [victim, mine] = [("claimed", "schedext/a"), ("claimer", "configmap/mine")]
        .map(|(namespace, what)| cluster.field(namespace, what, "/metadata/uid"));
    let mut forged = cluster.get("claimed", "daemonset/a").unwrap();
    forged["metadata"] = json!({
        "name": "a", "namespace": "claimer", "labels": forged["metadata"]["labels"],
        "ownerReferences": [
            {"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": "a", "uid": victim, "controller": true},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": mine},
        ],
    });
    forged["status"] = Value::Null;
    let collector = Stopped::new(&cluster, "kube-controller-manager");
    cluster.create(&forged);
    let args = json!([{"op": "add", "path": "/spec/args", "value": ["new"]}]);
    cluster.patch("claimed", "schedext/a", &args.to_string());
    manager.eventually("the change is rolled out all the same", || {
        let args = "/spec/template/spec/containers/0/args/0";
        cluster.field("claimed", "daemonset/a", args) == "new"
    });
    assert_eq!(desired(), 1);
    assert!(
        cluster.get("claimer", "daemonset/a").is_some(),
        "deleted by sked"
    );
    let log = manager.log();
    assert!(!log.contains("plan DaemonSets"), "{log}");
    drop(collector);
    manager.stop();
}
