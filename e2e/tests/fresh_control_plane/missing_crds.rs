//! A manager that is started before its CRDs are installed.

use serde_json::json;

use crate::install::fixture::{uninstall, uninstalled};

#[test]
fn a_manager_without_crds_logs_what_is_missing_and_starts_when_they_are_installed() {
    let cluster = uninstalled();
    cluster.namespace("early");
    let manager = cluster.manager(&["--watch-namespaces=early"]);
    let missing = || manager.log().matches("install the CRD").count();
    manager.eventually("it logs what is missing: both kinds", || missing() == 2);
    assert_eq!(manager.probe("readyz"), Some(503));
    assert_eq!(manager.probe("healthz"), Some(200));
    cluster.install_crds();
    manager.eventually("it is ready", || manager.probe("readyz") == Some(200));
    assert_eq!(missing(), 2, "each is logged once");
    cluster.schedext("early", "a", &json!({"sched": "a:1"}));
    manager.eventually("the DaemonSet is created", || {
        cluster.get("early", "daemonset/a").is_some()
    });
    manager.stop();
    uninstall();
}
