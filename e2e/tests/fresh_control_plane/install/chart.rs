//! The chart: the same objects as `config/default`, a schema for its values, and helm's install and
//! uninstall.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use lab::CommandOutput;
use serde_json::{Value, json};
use testkit::Cluster;

use super::fixture::{
    Nodes, RightToGet, User, allowed, any, apply, eventually, get, helm_program, kubectl, must,
    namespace, read_as_kubectl, rejected, run, schedext, uninstall, uninstalled,
};

const SAME_IMAGE: &str = "--set=image.repository=controller,image.tag=latest";
/// No pod runs here, so a Job would never end.
const NO_JOB: &str = "--set=uninstall.releaseNodes=false";

fn helm(cluster: &Cluster, args: &[&str]) -> CommandOutput {
    let home = tempfile::tempdir().unwrap();
    let mut helm = Command::new(helm_program());
    helm.current_dir(testkit::program::tree())
        .env("KUBECONFIG", cluster.admin_kubeconfig())
        .env("HOME", home.path())
        .args(args);
    run(&mut helm)
}

fn rendered(cluster: &Cluster, values: &[&str]) -> Vec<Value> {
    let args = ["template", "sked", "charts/sked", "--namespace=sked-system"];
    let output = helm(cluster, &[&args[..], values].concat());
    assert_eq!(output.status, 0, "{}", output.stderr);
    read(&output.stdout)
}

/// Manifests as kubectl parses them.
fn read(yaml: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    std::fs::write(&file, yaml).unwrap();
    read_as_kubectl("-f", file.to_str().unwrap())
}

/// By kind and name, without the labels and annotations that helm and kustomize add.
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

#[test]
fn the_chart_passes_lint_and_its_values_are_validated() {
    let cluster = any();
    let lint = helm(&cluster, &["lint", "--strict", "charts/sked"]);
    assert_eq!(lint.status, 0, "{}{}", lint.stdout, lint.stderr);
    for wrong in [
        "--set=imagee.tag=1",
        "--set=image.tag=a b",
        "--set=image.digest=sha256:12",
        "--set=manager.concurrency=-1",
        "--set=manager.replicas=two",
        "--set=manager.logFormat=xml",
        "--set=agent.logFormat=xml",
        "--set=agent.metrics.podMonitors=true",
        "--set=agent.enabled=perhaps",
        "--set=watchNamespaces={A_B}",
        "--set=crds.install=perhaps",
        "--set=verification.pullSecretNamespaces={A_B}",
    ] {
        let output = helm(&cluster, &["template", "sked", "charts/sked", wrong]);
        rejected(
            &output,
            "values don't meet the specifications of the schema",
        );
    }
}

#[test]
fn the_chart_has_what_config_default_has() {
    let cluster = any();
    let ours = read(&must(&["kustomize", "config/default"]));
    let ours = ours
        .into_iter()
        .filter(|object| object["kind"] != "Namespace");
    let chart = rendered(&cluster, &[SAME_IMAGE]).into_iter();
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
fn several_managers_are_spread_and_have_a_budget() {
    let cluster = any();
    let find = |objects: &[Value], kind: &str| {
        let mut objects = objects.iter();
        objects.find(|object| object["kind"] == kind).cloned()
    };
    let one = rendered(&cluster, &[]);
    assert_eq!(find(&one, "PodDisruptionBudget"), None);
    let two = rendered(&cluster, &["--set=manager.replicas=2"]);
    let budget = find(&two, "PodDisruptionBudget").unwrap();
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    let manager = find(&two, "Deployment").unwrap();
    assert_eq!(manager["spec"]["replicas"], 2);
    let labels = &manager["spec"]["template"]["metadata"]["labels"];
    let selector = &budget["spec"]["selector"]["matchLabels"]["control-plane"];
    assert_eq!(selector, &labels["control-plane"]);
    let spread = &manager["spec"]["template"]["spec"]["topologySpreadConstraints"][0];
    assert_eq!(spread["topologyKey"], "kubernetes.io/hostname");
}

#[test]
fn pull_secrets_are_opened_in_named_namespaces_only() {
    let cluster = any();
    let listed = "--set=verification.pullSecretNamespaces={a,b}";
    let of = |values: &[&str]| {
        let objects = rendered(&cluster, values).into_iter();
        let named = |object: &Value| object["metadata"]["name"] == "sked-pull-secrets";
        let named = objects.filter(named);
        let text = |object: &Value, field: &str| object[field].as_str().unwrap().to_owned();
        let name = |object: Value| {
            let metadata = &object["metadata"];
            format!("{}/{}", text(metadata, "namespace"), text(&object, "kind"))
        };
        named.map(name).collect::<Vec<_>>()
    };
    assert_eq!(of(&[listed]), [""; 0]);
    let mut opened = of(&[listed, "--set=verification.enabled=true"]);
    opened.sort();
    assert_eq!(
        opened,
        ["a/Role", "a/RoleBinding", "b/Role", "b/RoleBinding"]
    );
}

#[test]
fn watched_namespaces_have_a_role_each_and_the_cluster_role_is_for_nodes_only() {
    let cluster = any();
    let chart = rendered(&cluster, &["--set=watchNamespaces={a,b}"]);
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
    // The agents' pods are in this namespace.
    assert_eq!(resources(json!("sked-system")), ["pods"]);
    let deployment = chart.iter().find(|object| object["kind"] == "Deployment");
    let args = deployment.unwrap()["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--watch-namespaces=a,b"), "{args}");
}

#[test]
fn without_agents_only_their_admission_policy_is_rendered() {
    let cluster = any();
    let agents: Vec<_> = rendered(
        &cluster,
        &["--set=agent.enabled=false,agent.metrics.podMonitor=true"],
    )
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
fn a_watched_release_namespace_has_one_role_with_all_rules() {
    let cluster = any();
    let chart = rendered(&cluster, &["--set=watchNamespaces={sked-system}"]);
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
    let cluster = uninstalled();
    let digest = format!("--set=image.digest=sha256:{}", "0".repeat(64));
    let toleration = "--set-json=manager.tolerations=[{\"operator\":\"Exists\"}]";
    let args = [
        &digest,
        toleration,
        "--set=imagePullSecrets={mine}",
        "--set=manager.concurrency=4,manager.logFormat=text,manager.extraArgs={--log-level=debug}",
        "--set=manager.priorityClassName=system-cluster-critical",
        "--set=metrics.networkPolicy=true,metrics.dashboard=true",
        "--set=agent.priorityClassName=system-node-critical,agent.logFormat=text,agent.extraArgs={--poll-interval=10s}",
    ];
    apply(&[namespace("sked-system")]);
    let rendered = json!({"apiVersion": "v1", "kind": "List", "items": rendered(&cluster, &args)});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.json");
    std::fs::write(&file, rendered.to_string()).unwrap();
    let file = file.to_str().unwrap();
    must(&["apply", "--dry-run=server", "--validate=strict", "-f", file]);
    must(&["delete", "namespace", "sked-system"]);
}

#[test]
fn helm_installs_and_uninstalls_and_the_schedexts_stay() {
    let cluster = uninstalled();
    let home = ["--namespace=elsewhere", "--create-namespace"];
    let install = |release| {
        helm(
            &cluster,
            &[
                &["install", release, "charts/sked", SAME_IMAGE, NO_JOB],
                &home[..],
            ]
            .concat(),
        )
    };
    allowed(&install("sked"));
    let crd = "crd/schedexts.sked.schedkit.io";
    must(&["wait", "--for=condition=Established", crd, "--timeout=180s"]);
    // The policy knows the account in this namespace.
    let nodes = Nodes::new(&["chart-pawn"], &json!({}));
    let right = RightToGet::grant("sked-controller-manager", "elsewhere");
    let manager = User::holding_token_of("sked-controller-manager", "elsewhere");
    let label = r#"[{"op": "add", "path": "/metadata/labels", "value": {"mine": "all-mine"}}]"#;
    eventually("the policy is in force", || {
        let output = manager.runs(&["patch", "node", "chart-pawn", "--type=json", "-p", label]);
        output.stderr.contains("only those labels").then_some(())
    });
    drop((nodes, right));
    // There is one sked in a cluster.
    let again = install("again");
    rejected(&again, "cannot be imported into the current release");

    cluster.namespace("helmed");
    apply(&[schedext("helmed", "mine", json!({}))]);
    let uid = || get(&["schedext", "mine", "-n", "helmed"])["metadata"]["uid"].clone();
    let before = uid();
    let out = ["uninstall", "sked", "--namespace=elsewhere"];
    allowed(&helm(&cluster, &out));
    assert_ne!(
        kubectl(&["get", "clusterrole", "sked-manager-role"]).status,
        0
    );
    assert_eq!(uid(), before);
    // The CRDs that stayed are in nobody's way, whatever the next release is called.
    for release in ["sked", "renamed"] {
        allowed(&install(release));
        assert_eq!(uid(), before);
        let out = ["uninstall", release, "--namespace=elsewhere"];
        allowed(&helm(&cluster, &out));
    }
    uninstall();
    must(&["delete", "namespace", "elsewhere", "--wait=false"]);
}

#[test]
fn the_packed_chart_carries_its_files() {
    let cluster = any();
    let folder = tempfile::tempdir().unwrap();
    let into = format!("--destination={}", folder.path().display());
    allowed(&helm(&cluster, &["package", "charts/sked", &into]));
    let chart = folder.path().join("sked-0.1.0.tgz");
    assert!(Path::new(&chart).exists());
    let chart = chart.to_str().unwrap();
    let rendered = |chart: &str| {
        let args = ["template", "sked", chart, "--namespace=sked-system"];
        let output = helm(&cluster, &[&args[..], &[SAME_IMAGE]].concat());
        assert_eq!(output.status, 0, "{}", output.stderr);
        output.stdout
    };
    assert_eq!(rendered(chart), rendered("charts/sked"));
}
