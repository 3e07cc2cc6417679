//! A manager whose role lacks a verb: an old role, or one that somebody narrowed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{CLUSTER, Nodes, condition, denials, says};

const REMEDY: &str = "config/rbac";

/// An account with the manager's role, but for one verb on one resource.
struct Account {
    name: &'static str,
    role: Value,
}

impl Account {
    fn without(name: &'static str, verb: &str, resource: &str) -> Self {
        let shipped =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/rbac/manager_role.yaml");
        let shipped = shipped.to_str().unwrap();
        let words = ["create", "--dry-run=client", "-o", "json", "-f", shipped];
        let mut role: Value = serde_json::from_str(&CLUSTER.kubectl(&words)).unwrap();
        role["metadata"] = json!({"name": name});
        let account = Self {
            name,
            role: role.clone(),
        };
        let mut taken = 0;
        let rules = role["rules"].as_array_mut().unwrap();
        for rule in rules.iter_mut() {
            if rule["resources"] == json!([resource]) {
                let verbs = rule["verbs"].as_array_mut().unwrap();
                taken += verbs.len();
                verbs.retain(|one| one != verb);
                taken -= verbs.len();
            }
        }
        rules.retain(|rule| rule["verbs"] != json!([]));
        assert!(taken > 0, "{verb} on {resource} is no right of the manager");
        CLUSTER.apply(&role);
        CLUSTER.kubectl(&["create", "serviceaccount", name]);
        let (role, who) = (
            format!("--clusterrole={name}"),
            format!("--serviceaccount=default:{name}"),
        );
        CLUSTER.kubectl(&["create", "clusterrolebinding", name, &role, &who]);
        account
    }

    fn kubeconfig(&self) -> PathBuf {
        let token = CLUSTER.kubectl(&["create", "token", self.name]);
        CLUSTER.kubeconfig(&format!("{}.kubeconfig", self.name), |config| {
            // The administrator's certificate would be believed first.
            config["users"][0]["user"] = json!({"token": token.trim()});
        })
    }

    /// Gives it what was missing.
    fn grant(&self) {
        CLUSTER.apply(&self.role);
    }
}

/// The one line that says what is missing.
fn line(log: &str, words: &str) -> String {
    let line = log.lines().find(|line| line.contains(words));
    line.unwrap_or_default().to_owned()
}

#[test]
fn without_the_right_to_label_nodes_those_who_need_it_wait() {
    let nodes = Nodes::new("unlabelled", 5);
    let others = Nodes::new("alone", 1);
    CLUSTER.namespace("unlabelled");
    let account = Account::without("no-labels", "patch", "nodes");
    let manager = CLUSTER.manager_with(&account.kubeconfig(), &["--watch-namespaces=unlabelled"]);
    for name in ["a", "b"] {
        CLUSTER.schedext("unlabelled", name, &nodes.wanted());
    }
    CLUSTER.schedext("unlabelled", "alone", &others.wanted());
    let waiting = || {
        let mut names = ["a", "b"].into_iter();
        names.find(|name| says("unlabelled", name, "Progressing", "WaitingForClaims"))
    };
    manager.eventually("it is said", || waiting().is_some());
    let message = condition("unlabelled", waiting().unwrap(), "Progressing")["message"].to_string();
    assert!(message.contains("may patch nodes"), "{message}");
    manager.eventually("it is logged", || {
        let line = line(&manager.log(), "cannot patch resource");
        line.contains("nodes") && line.contains(REMEDY)
    });
    manager.eventually("who needs no label has its pods", || {
        CLUSTER.look(
            "unlabelled",
            "daemonset/alone",
            "/status/currentNumberScheduled",
        ) == 1
    });

    // Whatever happens elsewhere is no reason to try at once.
    let before = denials();
    assert!(before > 0, "the API server counts them");
    for round in 0..25 {
        let label = format!("round={round}");
        CLUSTER.kubectl(&["label", "--overwrite", "node/alone-0", &label]);
        std::thread::sleep(Duration::from_millis(150));
    }
    let tried = denials() - before;
    assert!(
        tried <= 5 * 4,
        "{tried} times for five nodes\n{}",
        manager.log()
    );
    let lines = manager.log().matches("cannot patch resource").count();
    assert!(lines <= 8, "{}", manager.log());

    account.grant();
    manager.eventually("then they are labelled", || {
        nodes.owners().iter().all(Value::is_string)
    });
    manager.eventually("and nobody waits", || waiting().is_none());
    manager.stop();
}

#[test]
fn without_another_right_it_is_said_which_and_tried_ever_more_rarely() {
    let nodes = Nodes::new("rights", 3);
    let start = |name: &'static str, verb: &str, resource: &str, node: &str| {
        CLUSTER.namespace(name);
        let account = Account::without(name, verb, resource);
        let watch = format!("--watch-namespaces={name}");
        let manager = CLUSTER.manager_with(&account.kubeconfig(), &[&watch]);
        let mut spec = nodes.wanted();
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
        CLUSTER.schedext(name, "a", &spec);
        (account, manager)
    };
    let (creator, mute, blind) = (
        start("no-daemonsets", "create", "daemonsets", "rights-0"),
        start("no-status", "patch", "schedexts/status", "rights-1"),
        start("no-pods", "list", "pods", "rights-2"),
    );

    let (account, manager) = creator;
    manager.eventually("it is said", || {
        says("no-daemonsets", "a", "Degraded", "NotAllowed")
    });
    let message = condition("no-daemonsets", "a", "Degraded")["message"].to_string();
    for words in ["cannot create resource", "daemonsets", "ClusterRole"] {
        assert!(message.contains(words), "{message}");
    }
    manager.eventually("it is logged", || {
        let line = line(&manager.log(), "cannot create resource");
        line.contains("daemonsets") && line.contains(REMEDY) && line.contains("no-daemonsets/a")
    });
    mute.1.eventually("the DaemonSet is made", || {
        CLUSTER.get("no-status", "daemonset/a").is_some()
    });
    mute.1.eventually("it is logged", || {
        let line = line(&mute.1.log(), "cannot patch resource");
        line.contains("schedexts/status") && line.contains(REMEDY)
    });
    blind.1.eventually("it is logged", || {
        let line = line(&blind.1.log(), "cannot list resource");
        line.contains("pods") && line.contains(REMEDY)
    });
    assert_eq!(blind.1.probe("readyz"), Some(503));
    assert_eq!(blind.1.probe("healthz"), Some(200));

    let before = denials();
    assert!(before > 0, "the API server counts them");
    std::thread::sleep(Duration::from_secs(4));
    let tried = denials() - before;
    assert!(tried < 30, "{tried} times\n{}", manager.log());
    let lines = blind.1.log().matches("cannot list resource").count();
    // Schedulers' pods and agents' pods.
    assert_eq!(lines, 2, "each once: {}", blind.1.log());

    for account in [&account, &mute.0, &blind.0] {
        account.grant();
    }
    manager.eventually("it is made", || {
        CLUSTER.get("no-daemonsets", "daemonset/a").is_some()
    });
    mute.1.eventually("it is said", || {
        CLUSTER.look("no-status", "schedext/a", "/status/observedGeneration") == 1
    });
    blind.1.eventually("it is made", || {
        CLUSTER.get("no-pods", "daemonset/a").is_some()
    });
    assert_eq!(blind.1.probe("readyz"), Some(200));
    for manager in [manager, mute.1, blind.1] {
        manager.stop();
    }
}
