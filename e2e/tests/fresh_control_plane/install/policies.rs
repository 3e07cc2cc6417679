//! Whether the admission policies restrict sked's accounts, however it was installed, and what the
//! manager reports when they do not.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Cluster, Manager};

use super::fixture::{
    DELETE_TIMEOUT, MANAGER, Nodes, User, apply, eventually, installed, must, rejected, schedext,
    uninstalled,
};

/// An overlay that changes the namespace and nothing else: kustomize does not look into expressions.
#[test]
fn the_policies_hold_in_another_namespace() {
    let cluster = uninstalled();
    let overlay = Overlay::new("moved");
    must(&["apply", "-k", overlay.path()]);
    let crd = "crd/schedextnodes.sked.schedkit.io";
    must(&["wait", "--for=condition=Established", crd, "--timeout=180s"]);
    let manager = User::holding_token_of(MANAGER, "moved");
    let unowned = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "unowned", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"name": "unowned"}},
            "template": {
                "metadata": {"labels": {"name": "unowned"}},
                "spec": {"containers": [{"name": "c", "image": "registry.example/c:1"}]},
            },
        },
    });
    eventually("the policy for DaemonSets is in force", || {
        let created = manager.sends("create", &unowned);
        if created.status == 0 {
            must(&["delete", "daemonset", "unowned", "-n", "kube-system"]);
        }
        let refused = "whose controlling owner is a SchedExt";
        created.stderr.contains(refused).then_some(())
    });
    let agent = User::holding_token_of("sked-node-agent", "moved");
    let report = json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode", "metadata": {"name": "any"}});
    rejected(
        &agent.sends("create", &report),
        "says which node its pod is on",
    );

    // The manager finds the same.
    let nodes = Nodes::new(&["moved"], &json!({}));
    let manager = with_token_of(&cluster, MANAGER, "moved", &["--watch-namespaces=moved"]);
    apply(&[schedext("moved", "a", json!({}))]);
    // The first status comes after the first check.
    manager.eventually("it has checked its policies", || {
        cluster.field("moved", "schedext/a", "/status/observedGeneration") == 1
    });
    let degraded = cluster.condition("moved", "a", "Degraded");
    assert_ne!(degraded["reason"], "PolicyNotEnforced", "{degraded}");
    assert!(
        !manager.log().contains("do not restrict"),
        "{}",
        manager.log()
    );
    manager.stop();
    drop(nodes);
    must(&["delete", "-k", overlay.path(), DELETE_TIMEOUT]);
}

#[test]
fn a_manager_that_no_policy_restricts_reports_it() {
    let cluster = installed();
    let _nodes = Nodes::new(&["unrestricted"], &json!({}));
    cluster.namespace("renamed");
    must(&["create", "serviceaccount", "renamed", "-n", "renamed"]);
    let role = "--clusterrole=sked-manager-role";
    let account = "--serviceaccount=renamed:renamed";
    must(&["create", "clusterrolebinding", "renamed", role, account]);
    apply(&[schedext("renamed", "a", json!({}))]);
    let watched = ["--watch-namespaces=renamed"];
    let manager = with_token_of(&cluster, "renamed", "renamed", &watched);
    manager.eventually("it is a condition", || {
        cluster.has_reason("renamed", "a", "Degraded", "PolicyNotEnforced")
    });
    let message = cluster.condition("renamed", "a", "Degraded")["message"].clone();
    for policy in ["sked-manager-daemonsets", "sked-manager-nodes"] {
        assert!(message.as_str().unwrap().contains(policy), "{message}");
        assert!(manager.log().contains(policy), "{}", manager.log());
    }
    assert!(
        cluster
            .get("renamed", "daemonset/sked-policy-check")
            .is_none()
    );
    manager.stop();
    must(&["delete", "clusterrolebinding", "renamed"]);

    let manager = with_token_of(&cluster, MANAGER, "sked-system", &watched);
    manager.eventually("with its own account the condition is over", || {
        cluster.has_reason("renamed", "a", "Degraded", "AsExpected")
    });
    manager.stop();
    must(&["delete", "schedext", "a", "-n", "renamed"]);
}

/// A manager with a token of this account.
fn with_token_of(cluster: &Cluster, account: &str, namespace: &str, args: &[&str]) -> Manager {
    let token = must(&["create", "token", account, "-n", namespace]);
    let kubeconfig = cluster.kubeconfig(&format!("{account}-{namespace}"), |config| {
        config["users"][0]["user"] = json!({"token": token.trim()});
    });
    cluster.sked("manager", &kubeconfig, args)
}

/// A folder beside the checkout's own with `config/default` in another namespace; removed when dropped.
struct Overlay(PathBuf);

impl Overlay {
    fn new(namespace: &str) -> Self {
        let folder = testkit::program::tree().join("dist/overlay-for-tests");
        std::fs::create_dir_all(&folder).unwrap();
        let overlay: Value = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "namespace": namespace, "resources": ["../../config/default"],
        });
        std::fs::write(folder.join("kustomization.yaml"), overlay.to_string()).unwrap();
        Self(folder)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
