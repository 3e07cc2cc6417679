//! A manager that is started before its CRDs are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;
use testkit::Cluster;

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

    // An upgrade from manifests that have SchedExts only: what needs no kernel's state is done.
    install(&cluster, sked_api::crd::schedext().unwrap());
    cluster.schedext("early", "a", &json!({"sched": "a:1"}));
    manager.eventually("the DaemonSet is created", || {
        cluster.get("early", "daemonset/a").is_some()
    });
    manager.eventually("the status is written", || {
        cluster.field("early", "schedext/a", "/status/observedGeneration") == 1
    });
    // In a rolling update its predecessor ends only when it is ready.
    manager.eventually("it is ready without reports", || {
        manager.probe("readyz") == Some(200)
    });

    cluster.install_crds();
    manager.eventually("it reads reports", || {
        manager.log().contains("the watch works again")
    });
    assert_eq!(missing(), 2, "each is logged once");
    manager.stop();
    uninstall();
}

fn install(cluster: &Cluster, crd: CustomResourceDefinition) {
    cluster.apply(&serde_json::to_value(&crd).unwrap());
    let named = format!("crd/{}", crd.metadata.name.unwrap());
    cluster.kubectl(&["wait", "--for=condition=Established", &named]);
}
