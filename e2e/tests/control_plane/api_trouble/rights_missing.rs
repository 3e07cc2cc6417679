//! A manager whose role lacks a verb: an old role, or one that somebody narrowed.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Cluster, KwokNodes, Manager};

const REMEDY: &str = "config/rbac";

/// An account with the manager's role, but for one verb on one resource. Its role and binding are
/// deleted when it is dropped.
struct Account<'a> {
    cluster: &'a Cluster,
    name: &'static str,
    full_role: Value,
}

impl<'a> Account<'a> {
    fn without(cluster: &'a Cluster, name: &'static str, verb: &str, resource: &str) -> Self {
        let shipped = "config/rbac/manager_role.yaml";
        let args = ["create", "--dry-run=client", "-o", "json", "-f", shipped];
        let mut role: Value = serde_json::from_str(&cluster.kubectl(&args)).unwrap();
        role["metadata"] = json!({"name": name});
        let account = Self {
            cluster,
            name,
            full_role: role.clone(),
        };
        let mut removed = 0;
        let rules = role["rules"].as_array_mut().unwrap();
        for rule in rules.iter_mut() {
            if rule["resources"] == json!([resource]) {
                let verbs = rule["verbs"].as_array_mut().unwrap();
                removed += verbs.len();
                verbs.retain(|one| one != verb);
                removed -= verbs.len();
            }
        }
        rules.retain(|rule| rule["verbs"] != json!([]));
        assert!(
            removed > 0,
            "{verb} on {resource} is no right of the manager"
        );
        cluster.apply(&role);
        cluster.kubectl(&["create", "serviceaccount", "-n", name, name]);
        let (role, account_name) = (
            format!("--clusterrole={name}"),
            format!("--serviceaccount={name}:{name}"),
        );
        cluster.kubectl(&["create", "clusterrolebinding", name, &role, &account_name]);
        account
    }

    fn kubeconfig(&self) -> PathBuf {
        let args = ["create", "token", "-n", self.name, self.name];
        let token = self.cluster.kubectl(&args);
        let file = format!("{}.kubeconfig", self.name);
        self.cluster.kubeconfig(&file, |config| {
            // The administrator's certificate would take precedence.
            config["users"][0]["user"] = json!({"token": token.trim()});
        })
    }

    /// A manager with this account for the namespace of its name.
    fn manager(&self) -> Manager {
        let watch = format!("--watch-namespaces={}", self.name);
        self.cluster.sked("manager", &self.kubeconfig(), &[&watch])
    }

    /// Gives it what was missing.
    fn grant(&self) {
        self.cluster.apply(&self.full_role);
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        let kinds = "clusterrolebinding,clusterrole";
        self.cluster.run(&["delete", kinds, self.name]);
    }
}

/// The first line of a log with this text.
fn line(log: &str, text: &str) -> String {
    let line = log.lines().find(|line| line.contains(text));
    line.unwrap_or_default().to_owned()
}

#[test]
fn without_the_right_to_label_nodes_schedexts_that_need_labels_wait() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "unlabelled", 5);
    let others = KwokNodes::new(&cluster, "alone", 1);
    cluster.namespace("unlabelled");
    let account = Account::without(&cluster, "unlabelled", "patch", "nodes");
    let manager = account.manager();
    for name in ["a", "b"] {
        cluster.schedext("unlabelled", name, &nodes.selecting_spec());
    }
    cluster.schedext("unlabelled", "alone", &others.selecting_spec());
    let waiting = || {
        let mut names = ["a", "b"].into_iter();
        names.find(|name| cluster.has_reason("unlabelled", name, "Progressing", "WaitingForClaims"))
    };
    manager.eventually("the condition is written", || waiting().is_some());
    let progressing = cluster.condition("unlabelled", waiting().unwrap(), "Progressing");
    let message = progressing["message"].to_string();
    assert!(message.contains("may patch nodes"), "{message}");
    manager.eventually("the log names right and remedy", || {
        let line = line(&manager.log(), "cannot patch resource");
        line.contains("nodes") && line.contains(REMEDY)
    });
    manager.eventually("a SchedExt that needs no label has its pods", || {
        let scheduled = "/status/currentNumberScheduled";
        cluster.field("unlabelled", "daemonset/alone", scheduled) == 1
    });

    // What happens elsewhere is no reason to retry at once.
    let before = cluster.denials();
    assert!(before > 0, "the API server counts them");
    for round in 0..15 {
        let label = format!("round={round}");
        cluster.kubectl(&["label", "--overwrite", "node/alone-0", &label]);
        std::thread::sleep(Duration::from_millis(150));
    }
    let tried = cluster.denials() - before;
    // Retried at each change, five nodes would be refused 75 times; with a back-off, ten times
    // each takes minutes.
    assert!(tried < 50, "{tried} times\n{}", manager.log());
    let lines = manager.log().matches("cannot patch resource").count();
    assert!(lines < 15, "{}", manager.log());

    account.grant();
    manager.eventually("then they are labelled", || {
        nodes.owners().iter().all(Value::is_string)
    });
    manager.eventually("and none waits", || waiting().is_none());
    manager.stop();
}

#[test]
fn without_another_right_it_is_reported_which_and_the_manager_backs_off() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "rights", 3);
    let start = |name: &'static str, verb: &str, resource: &str, node: &str| {
        cluster.namespace(name);
        let account = Account::without(&cluster, name, verb, resource);
        let manager = account.manager();
        let mut spec = nodes.selecting_spec();
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
        cluster.schedext(name, "a", &spec);
        (account, manager)
    };
    let (no_create, creating) = start("no-daemonsets", "create", "daemonsets", "rights-0");
    let (no_patch, patching) = start("no-status", "patch", "schedexts/status", "rights-1");
    let (no_list, listing) = start("no-pods", "list", "pods", "rights-2");

    creating.eventually("the condition is written", || {
        cluster.has_reason("no-daemonsets", "a", "Degraded", "NotAllowed")
    });
    let message = cluster.condition("no-daemonsets", "a", "Degraded")["message"].to_string();
    for part in ["cannot create resource", "daemonsets", "ClusterRole"] {
        assert!(message.contains(part), "{message}");
    }
    creating.eventually("the log names right and remedy", || {
        let line = line(&creating.log(), "cannot create resource");
        line.contains("daemonsets") && line.contains(REMEDY) && line.contains("no-daemonsets/a")
    });
    patching.eventually("the DaemonSet is created", || {
        cluster.get("no-status", "daemonset/a").is_some()
    });
    patching.eventually("the log names right and remedy", || {
        let line = line(&patching.log(), "cannot patch resource");
        line.contains("schedexts/status") && line.contains(REMEDY)
    });
    listing.eventually("the log names right and remedy", || {
        let line = line(&listing.log(), "cannot list resource");
        line.contains("pods") && line.contains(REMEDY)
    });
    assert_eq!(listing.probe("readyz"), Some(503));
    assert_eq!(listing.probe("healthz"), Some(200));

    let before = cluster.denials();
    assert!(before > 0, "the API server counts them");
    std::thread::sleep(Duration::from_secs(3));
    // Four series. Retried every 200 ms they would be refused 60 times; with a back-off, ten times
    // each takes minutes.
    let tried = cluster.denials() - before;
    assert!(tried < 40, "{tried} times\n{}", creating.log());
    let lines = listing.log().matches("cannot list resource").count();
    // Schedulers' pods and agents' pods.
    assert_eq!(lines, 2, "each once: {}", listing.log());

    for account in [&no_create, &no_patch, &no_list] {
        account.grant();
    }
    creating.eventually("the DaemonSet is created", || {
        cluster.get("no-daemonsets", "daemonset/a").is_some()
    });
    patching.eventually("the status is written", || {
        cluster.field("no-status", "schedext/a", "/status/observedGeneration") == 1
    });
    listing.eventually("the DaemonSet is created", || {
        cluster.get("no-pods", "daemonset/a").is_some()
    });
    assert_eq!(listing.probe("readyz"), Some(200));
    for manager in [creating, patching, listing] {
        manager.stop();
    }
}
