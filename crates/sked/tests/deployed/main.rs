//! sked as an administrator has it: `make deploy` with an image from a registry, the manager as a
//! pod with its own account and rights, and a node whose kernel says what came of it. One story,
//! because a cluster has one sked and a node takes a minute to boot.
//!
//! Proves nothing about several nodes (see `lab/tests/cluster.rs`) or about scale.

#![cfg(test)]

mod ground;

use serde_json::{Value, json};

use ground::Site;

#[test]
fn from_make_deploy_to_the_kernel_and_back() {
    let site = Site::up("test-deployed");
    let tree = site.tree_status();
    let img = format!("IMG={}", site.image);

    site.make(&["deploy", &img]);
    assert_eq!(
        site.tree_status(),
        tree,
        "make deploy leaves the tree alone"
    );
    let manager = site.await_manager();
    assert_eq!(
        manager["spec"]["containers"][0]["image"],
        site.image.as_str()
    );
    behind_the_service(&site, &manager);

    site.apply(&schedext());
    site.await_kernel("enabled\n");
    heard_of(&site);
    by_the_kernels_word(&site);
    metrics(&site, &manager);

    // Without the manager the scheduler goes on, and the next one finds everything as it was.
    let pod = site.scheduler();
    for folder in ["config/manager", "config/rbac"] {
        site.kubectl(&["delete", "-k", folder, "--timeout=120s"]);
    }
    assert_eq!(site.kernel(), "enabled\n");
    site.make(&["deploy", &img]);
    site.await_manager();
    site.kubectl(&["annotate", "schedext", "lab", "seen=again"]);
    assert_eq!(site.scheduler(), pod, "nothing was restarted");

    site.kubectl(&["delete", "schedext", "lab"]);
    site.await_kernel("disabled\n");

    // Everything at once.
    site.apply(&schedext());
    site.await_kernel("enabled\n");
    site.leave_a_label();
    assert_eq!(site.kernel(), "enabled\n");
    site.make(&["undeploy"]);
    site.await_kernel("disabled\n");
    assert!(!site.has_owner_label());
    assert_eq!(
        site.get(&["namespaces", "--field-selector=metadata.name=sked-system"])["items"],
        json!([])
    );

    with_helm(&site);
}

fn schedext() -> Value {
    json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
        "metadata": {"name": "lab", "namespace": "default"},
        "spec": {"sched": "registry.lab:5000/scx_lab:latest"},
    })
}

/// The metrics Service has one address: the manager's.
fn behind_the_service(site: &Site, manager: &Value) {
    let slices = "kubernetes.io/service-name=sked-controller-manager-metrics-service";
    let addresses = site.eventually("the Service has an address", || {
        let slices = site.get(&["endpointslices", "-n", "sked-system", "-l", slices]);
        let addresses: Vec<Value> = slices["items"]
            .as_array()?
            .iter()
            .flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default())
            .filter(|endpoint| endpoint["conditions"]["ready"] == true)
            .map(|endpoint| endpoint["addresses"][0].clone())
            .collect();
        (!addresses.is_empty()).then_some(addresses)
    });
    assert_eq!(addresses, [manager["status"]["podIP"].clone()]);
}

/// The status is written with the manager's own rights, and so are events.
fn heard_of(site: &Site) {
    site.eventually("the status is there", || {
        let schedext = site.get(&["schedext", "lab"]);
        (schedext["status"]["observedGeneration"] == 1).then_some(())
    });
    let logs = site.kubectl(&[
        "logs",
        "deployment/sked-controller-manager",
        "-n",
        "sked-system",
    ]);
    assert!(!logs.contains("orbidden"), "{logs}");
    let lease = site.get(&["lease", "b4c95cb3.schedkit.io", "-n", "sked-system"]);
    assert!(lease["spec"]["holderIdentity"].is_string(), "{lease}");
}

/// Attached is what the node's kernel says, seen by a pod without any right on the machine; so is
/// that it was thrown out, and why; and it comes back.
fn by_the_kernels_word(site: &Site) {
    site.await_condition("Ready", "Attached");
    let status = &site.get(&["schedext", "lab"])["status"];
    assert_eq!(status["counts"]["attached"], 1, "{status}");
    let ops = status["ops"].as_str().unwrap();
    assert!(ops.starts_with("lab"), "{ops}");
    site.kubectl(&["rollout", "status", "daemonset/lab", "--timeout=60s"]);
    let report = site.get(&["sxn", "node1"]);
    assert_eq!(report["status"]["state"], "enabled", "{report}");
    let table = site.kubectl(&["get", "sxn"]);
    println!("{table}");

    site.press_sysrq();
    let seen = site.eventually("the SchedExt says that it was thrown out, and why", || {
        let status = site.get(&["schedext", "lab"])["status"].clone();
        let problem = status["problems"][0].clone();
        (problem["reason"] == "SysRq").then_some(problem)
    });
    println!("{seen}");
    site.await_condition("Ready", "Attached");
    let agents = site.get(&["pods", "-n", "sked-system", "-l", ground::AGENT]);
    let agent = &agents["items"][0]["status"]["containerStatuses"][0];
    assert_eq!(agent["restartCount"], 0, "{agent}");
}

/// A token that is bound to sked-metrics-reader gets metrics; another one does not.
fn metrics(site: &Site, manager: &Value) {
    let ip = manager["status"]["podIP"].as_str().unwrap();
    for account in ["scrapes", "strays"] {
        site.kubectl(&["create", "serviceaccount", account]);
    }
    site.kubectl(&[
        "create",
        "clusterrolebinding",
        "scrapes",
        "--clusterrole=sked-metrics-reader",
        "--serviceaccount=default:scrapes",
    ]);
    let said = site.ask_from_a_pod("scrapes", ip);
    assert!(said.contains("leader_election_master_status"), "{said}");
    let said = site.ask_from_a_pod("strays", ip);
    assert!(said.contains("orbidden"), "{said}");
}

/// The chart on the same node, and its Job that takes the labels off.
fn with_helm(site: &Site) {
    let (repository, tag) = site.image.rsplit_once(':').unwrap();
    let image = format!("--set=image.repository={repository},image.tag={tag}");
    site.helm(&[
        "install",
        "sked",
        "charts/sked",
        "--namespace=sked-system",
        "--create-namespace",
        &image,
    ]);
    site.await_manager();
    site.apply(&schedext());
    site.await_kernel("enabled\n");
    site.kubectl(&["delete", "schedext", "lab"]);
    site.await_kernel("disabled\n");
    site.leave_a_label();
    site.helm(&[
        "uninstall",
        "sked",
        "--namespace=sked-system",
        "--timeout=180s",
    ]);
    site.eventually("the Job took the label off", || {
        (!site.has_owner_label()).then_some(())
    });
}
