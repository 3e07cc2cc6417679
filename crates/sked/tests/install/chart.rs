//! The chart: the same objects as `config/default`, values that are checked, and the way in and
//! out with helm.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lab::CommandOutput;
use lab::parts::install_tool::InstallTool;
use serde_json::{Value, json};

use crate::ground::{
    DEFINITIONS_GO, Person, allowed, alone, apply, get, kubectl, lab, must, namespace,
    read_as_kubectl, refused, said, schedext, tool, tree,
};

const SAME_IMAGE: &str = "--set=image.repository=controller,image.tag=latest";
/// Nothing runs here, so no Job after the end would end.
const NO_JOB: &str = "--set=uninstall.releaseNodes=false";

fn helm(words: &[&str]) -> CommandOutput {
    let home = tempfile::tempdir().unwrap();
    let mut helm = Command::new(tool(InstallTool::Helm));
    helm.current_dir(tree())
        .env("KUBECONFIG", lab().running().kubeconfig.as_ref().unwrap())
        .env("HOME", home.path())
        .args(words);
    said(&mut helm)
}

fn rendered(values: &[&str]) -> Vec<Value> {
    let words = ["template", "sked", "charts/sked", "--namespace=sked-system"];
    let said = helm(&[&words[..], values].concat());
    assert_eq!(said.status, 0, "{}", said.stderr);
    read(&said.stdout)
}

/// Manifests as kubectl reads them.
fn read(yaml: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    std::fs::write(&file, yaml).unwrap();
    read_as_kubectl("-f", file.to_str().unwrap())
}

/// By kind and name, without what helm and kustomize each add.
fn plain(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let plain = objects.into_iter().map(|mut object| {
        let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
        for added in ["annotations", "labels"] {
            object["metadata"].as_object_mut().unwrap().remove(added);
        }
        (name, object)
    });
    plain.collect()
}

fn is_hook(object: &Value) -> bool {
    object["metadata"]["annotations"]
        .get("helm.sh/hook")
        .is_some()
}

/// Nothing of sked is in the cluster.
fn cleared() {
    for release in ["sked", "again"] {
        helm(&[
            "uninstall",
            release,
            "--namespace=elsewhere",
            "--no-hooks",
            "--ignore-not-found",
        ]);
    }
    must(&[
        "delete",
        "-k",
        "config/default",
        "--ignore-not-found",
        DEFINITIONS_GO,
    ]);
}

#[test]
fn the_chart_is_sound_and_its_values_are_checked() {
    let _alone = alone();
    let lint = helm(&["lint", "--strict", "charts/sked"]);
    assert_eq!(lint.status, 0, "{}{}", lint.stdout, lint.stderr);
    for wrong in [
        "--set=imagee.tag=1",
        "--set=image.tag=a b",
        "--set=image.digest=sha256:12",
        "--set=manager.concurrency=-1",
        "--set=manager.logFormat=xml",
        "--set=agent.logFormat=xml",
        "--set=agent.metrics.podMonitors=true",
        "--set=agent.enabled=perhaps",
        "--set=watchNamespaces={A_B}",
        "--set=crds.install=perhaps",
    ] {
        let said = helm(&["template", "sked", "charts/sked", wrong]);
        refused(&said, "values don't meet the specifications of the schema");
    }
}

#[test]
fn the_chart_has_what_config_default_has() {
    let _alone = alone();
    cleared();
    let ours = read(&must(&["kustomize", "config/default"]));
    let ours = ours
        .into_iter()
        .filter(|object| object["kind"] != "Namespace");
    let chart = rendered(&[SAME_IMAGE]).into_iter();
    let chart = plain(chart.filter(|object| !is_hook(object)).collect());
    let ours = plain(ours.collect());
    assert_eq!(
        chart.keys().collect::<Vec<_>>(),
        ours.keys().collect::<Vec<_>>()
    );
    for (name, object) in &ours {
        assert_eq!(&chart[name], object, "{name}");
    }
}

#[test]
fn chosen_namespaces_have_a_role_each_and_the_cluster_gives_nodes_only() {
    let _alone = alone();
    cleared();
    let chart = rendered(&["--set=watchNamespaces={a,b}"]);
    let roles: Vec<_> = chart
        .iter()
        .filter(|object| object["metadata"]["name"] == "sked-manager-role")
        .collect();
    let of = |namespace: Value| {
        let mut roles = roles.iter();
        roles
            .find(|role| role["metadata"]["namespace"] == namespace)
            .unwrap()["rules"]
            .clone()
    };
    let resources = |namespace: Value| {
        let rules = of(namespace).as_array().unwrap().clone();
        let resources = rules.iter().map(|rule| rule["resources"][0].clone());
        resources.collect::<Vec<_>>()
    };
    assert_eq!(resources(Value::Null), ["nodes", "schedextnodes"]);
    assert_eq!(of(json!("a")), of(json!("b")));
    assert!(!of(json!("a")).to_string().contains("nodes"));
    assert!(resources(json!("a")).contains(&json!("pods/status")));
    // The agents' pods are here.
    assert_eq!(resources(json!("sked-system")), ["pods"]);
    let deployment = chart.iter().find(|object| object["kind"] == "Deployment");
    let args = deployment.unwrap()["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--watch-namespaces=a,b"), "{args}");
}

#[test]
fn without_agents_there_is_nothing_of_theirs_but_what_the_cluster_may_keep() {
    let _alone = alone();
    cleared();
    let agents: Vec<_> = rendered(&["--set=agent.enabled=false,agent.metrics.podMonitor=true"])
        .into_iter()
        .filter(|object| object["metadata"]["name"].to_string().contains("agent"))
        .map(|object| object["kind"].as_str().unwrap().to_owned())
        .collect();
    let policy = [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    assert_eq!(agents, policy);
}

#[test]
fn a_watched_home_has_one_role_with_all_rules() {
    let _alone = alone();
    cleared();
    let chart = rendered(&["--set=watchNamespaces={sked-system}"]);
    let roles: Vec<_> = chart
        .iter()
        .filter(|object| {
            object["kind"] == "Role" && object["metadata"]["name"] == "sked-manager-role"
        })
        .collect();
    assert_eq!(roles.len(), 1);
    assert!(roles[0]["rules"].to_string().contains("daemonsets"));
}

#[test]
fn every_option_is_known_to_the_api_server() {
    let _alone = alone();
    cleared();
    let digest = format!("--set=image.digest=sha256:{}", "0".repeat(64));
    let toleration = "--set-json=manager.tolerations=[{\"operator\":\"Exists\"}]";
    let words = [
        &digest,
        toleration,
        "--set=imagePullSecrets={mine}",
        "--set=manager.concurrency=4,manager.logFormat=text,manager.extraArgs={--log-level=debug}",
        "--set=manager.priorityClassName=system-cluster-critical",
        "--set=metrics.networkPolicy=true,metrics.dashboard=true",
        "--set=agent.priorityClassName=system-node-critical,agent.logFormat=text,agent.extraArgs={--poll-interval=10s}",
    ];
    apply(&[namespace("sked-system")]);
    let rendered = json!({"apiVersion": "v1", "kind": "List", "items": rendered(&words)});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.json");
    std::fs::write(&file, rendered.to_string()).unwrap();
    let file = file.to_str().unwrap();
    must(&["apply", "--dry-run=server", "--validate=strict", "-f", file]);
}

#[test]
fn helm_brings_it_and_takes_it_and_the_schedexts_stay() {
    let _alone = alone();
    cleared();
    let home = ["--namespace=elsewhere", "--create-namespace"];
    let install = |release| {
        helm(
            &[
                &["install", release, "charts/sked", SAME_IMAGE, NO_JOB],
                &home[..],
            ]
            .concat(),
        )
    };
    allowed(&install("sked"));
    let crd = "crd/schedexts.sked.schedkit.io";
    must(&["wait", "--for=condition=Established", crd, "--timeout=60s"]);
    // The policy knows the account where it is now.
    apply(&[json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "chart-pawn"}})]);
    let manager = Person::holding_token_of("sked-controller-manager", "elsewhere");
    let mine = r#"[{"op": "add", "path": "/metadata/labels", "value": {"mine": "all-mine"}}]"#;
    crate::ground::eventually("the policy is in force", || {
        let words = ["patch", "node", "chart-pawn", "--type=json", "-p", mine];
        // kubectl looks before it patches, which the manager has no need of.
        crate::ground::let_kubectl_look("sked-controller-manager", "elsewhere");
        let said = manager.says(&words);
        said.stderr.contains("only those labels").then_some(())
    });
    // There is one sked in a cluster.
    refused(
        &install("again"),
        "cannot be imported into the current release",
    );

    apply(&[namespace("helmed"), schedext("helmed", "mine", json!({}))]);
    let uid = || get(&["schedext", "mine", "-n", "helmed"])["metadata"]["uid"].clone();
    let before = uid();
    allowed(&helm(&["uninstall", "sked", "--namespace=elsewhere"]));
    assert_ne!(
        kubectl(&["get", "clusterrole", "sked-manager-role"]).status,
        0
    );
    assert_eq!(uid(), before);
    allowed(&install("sked"));
    assert_eq!(uid(), before);
    cleared();
}

#[test]
fn the_packed_chart_carries_its_files() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let into = format!("--destination={}", folder.path().display());
    allowed(&helm(&["package", "charts/sked", &into]));
    let chart = folder.path().join("sked-0.1.0.tgz");
    assert!(Path::new(&chart).exists());
    let chart = chart.to_str().unwrap();
    let said = helm(&[
        "template",
        "sked",
        chart,
        "--namespace=sked-system",
        SAME_IMAGE,
    ]);
    let words = [
        "template",
        "sked",
        "charts/sked",
        "--namespace=sked-system",
        SAME_IMAGE,
    ];
    assert_eq!(said.stdout, helm(&words).stdout);
}
