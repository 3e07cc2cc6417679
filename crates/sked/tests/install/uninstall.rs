//! The ways out: without the manager everything else stays; without the CRD nothing does.

use serde_json::json;

use crate::ground::{
    DEFINITIONS_GO, alone, apply, eventually, get, install, kubectl, must, namespace, schedext,
};

fn is_there(words: &str) -> bool {
    let words: Vec<_> = words.split(' ').collect();
    kubectl(&[&["get"], &words[..]].concat()).status == 0
}

#[test]
fn without_the_manager_the_schedexts_stay_and_a_reinstall_finds_them() {
    let _alone = alone();
    install();
    apply(&[namespace("stays"), schedext("stays", "mine", json!({}))]);
    let before = get(&["schedext", "mine", "-n", "stays"])["metadata"]["uid"].clone();
    must(&["delete", "-k", "config/manager"]);
    must(&["delete", "-k", "config/rbac"]);
    for gone in [
        "deployment sked-controller-manager -n sked-system",
        "service sked-controller-manager-metrics-service -n sked-system",
        "clusterrole sked-manager-role",
        "serviceaccount sked-controller-manager -n sked-system",
    ] {
        assert!(!is_there(gone), "{gone}");
    }
    assert!(is_there("crd schedexts.sked.schedkit.io"));
    assert!(is_there("namespace sked-system"));
    let after = || get(&["schedext", "mine", "-n", "stays"])["metadata"]["uid"].clone();
    assert_eq!(after(), before);
    install();
    assert_eq!(after(), before);
}

#[test]
fn without_the_crd_schedexts_and_their_daemonsets_go() {
    let _alone = alone();
    install();
    apply(&[namespace("goes"), schedext("goes", "mine", json!({}))]);
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
    must(&["delete", "-k", "config/default", DEFINITIONS_GO]);
    assert!(!is_there("crd schedexts.sked.schedkit.io"));
    assert!(!is_there("namespace sked-system"));
    assert!(!is_there("validatingadmissionpolicy sked-schedext-authors"));
    eventually("the garbage collector takes the DaemonSet", || {
        (!is_there("daemonset mine -n goes")).then_some(())
    });
}
