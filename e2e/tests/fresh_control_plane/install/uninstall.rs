//! Uninstalling: without the manager everything else stays; without the CRD nothing does.

use serde_json::json;

use super::fixture::{
    apply, eventually, get, install, installed, kubectl, must, schedext, uninstall, uninstalled,
};

fn exists(object: &str) -> bool {
    let args: Vec<_> = object.split(' ').collect();
    kubectl(&[&["get"], &args[..]].concat()).status == 0
}

#[test]
fn without_the_manager_schedexts_stay_and_a_reinstall_finds_them() {
    let cluster = installed();
    cluster.namespace("stays");
    apply(&[schedext("stays", "mine", json!({}))]);
    let before = get(&["schedext", "mine", "-n", "stays"])["metadata"]["uid"].clone();
    must(&["delete", "-k", "config/manager"]);
    must(&["delete", "-k", "config/rbac"]);
    for gone in [
        "deployment sked-controller-manager -n sked-system",
        "service sked-controller-manager-metrics-service -n sked-system",
        "clusterrole sked-manager-role",
        "serviceaccount sked-controller-manager -n sked-system",
    ] {
        assert!(!exists(gone), "{gone}");
    }
    assert!(exists("crd schedexts.sked.schedkit.io"));
    assert!(exists("namespace sked-system"));
    let after = || get(&["schedext", "mine", "-n", "stays"])["metadata"]["uid"].clone();
    assert_eq!(after(), before);
    install();
    assert_eq!(after(), before);
}

#[test]
fn without_the_crd_schedexts_and_their_daemonsets_are_deleted() {
    let cluster = uninstalled();
    install();
    cluster.namespace("goes");
    apply(&[schedext("goes", "mine", json!({}))]);
    let uid = get(&["schedext", "mine", "-n", "goes"])["metadata"]["uid"].clone();
    apply(&[json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "mine", "namespace": "goes", "ownerReferences": [{
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": "mine", "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }]},
        "spec": {
            "selector": {"matchLabels": {"name": "mine"}},
            "template": {
                "metadata": {"labels": {"name": "mine"}},
                "spec": {"containers": [{"name": "scx", "image": "registry.example/scx_lab:1"}]},
            },
        },
    })]);
    uninstall();
    assert!(!exists("crd schedexts.sked.schedkit.io"));
    assert!(!exists("namespace sked-system"));
    assert!(!exists("validatingadmissionpolicy sked-schedext-authors"));
    eventually("the garbage collector deletes the DaemonSet", || {
        (!exists("daemonset mine -n goes")).then_some(())
    });
}
