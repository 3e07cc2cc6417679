//! The folders of `config/`: what they render, under which names, and whether the API server knows
//! every field.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::fixture::{
    any, eventually, get, installed, kubectl, monitoring, must, read_as_kubectl, rejected,
};

/// Every folder that can be applied by itself.
const FOLDERS: [&str; 13] = [
    "agent",
    "crd",
    "default",
    "manager",
    "namespace",
    "network-policy",
    "node-pools",
    "policy",
    "prometheus",
    "rbac",
    "samples",
    "verified",
    "verified/images",
];

/// What `kubectl apply -k config/default` installs.
const INSTALLED: [&str; 30] = [
    "ClusterRole/sked-manager-role",
    "ClusterRole/sked-metrics-auth-role",
    "ClusterRole/sked-metrics-reader",
    "ClusterRole/sked-node-agent-role",
    "ClusterRole/sked-schedext-editor-role",
    "ClusterRole/sked-schedext-viewer-role",
    "ClusterRoleBinding/sked-manager-rolebinding",
    "ClusterRoleBinding/sked-metrics-auth-rolebinding",
    "ClusterRoleBinding/sked-node-agent-rolebinding",
    "CustomResourceDefinition/schedextnodes.sked.schedkit.io",
    "CustomResourceDefinition/schedexts.sked.schedkit.io",
    "Namespace/sked-system",
    "PriorityClass/sked-node-agent",
    "ValidatingAdmissionPolicy/sked-agent-reports",
    "ValidatingAdmissionPolicy/sked-manager-daemonsets",
    "ValidatingAdmissionPolicy/sked-manager-nodes",
    "ValidatingAdmissionPolicy/sked-manager-pods",
    "ValidatingAdmissionPolicy/sked-schedext-authors",
    "ValidatingAdmissionPolicyBinding/sked-agent-reports",
    "ValidatingAdmissionPolicyBinding/sked-manager-daemonsets",
    "ValidatingAdmissionPolicyBinding/sked-manager-nodes",
    "ValidatingAdmissionPolicyBinding/sked-manager-pods",
    "ValidatingAdmissionPolicyBinding/sked-schedext-authors",
    "sked-system/DaemonSet/sked-node-agent",
    "sked-system/Deployment/sked-controller-manager",
    "sked-system/Role/sked-leader-election-role",
    "sked-system/RoleBinding/sked-leader-election-rolebinding",
    "sked-system/Service/sked-controller-manager-metrics-service",
    "sked-system/ServiceAccount/sked-controller-manager",
    "sked-system/ServiceAccount/sked-node-agent",
];

/// The objects of a list as namespace/kind/name.
fn names(list: &Value) -> BTreeSet<String> {
    let items = list["items"].as_array().cloned();
    items
        .unwrap_or_else(|| vec![list.clone()])
        .iter()
        .map(|object| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let metadata = &object["metadata"];
            let namespace = metadata["namespace"].as_str();
            let prefix = namespace.map(|name| format!("{name}/")).unwrap_or_default();
            format!(
                "{prefix}{}/{}",
                text(&object["kind"]),
                text(&metadata["name"])
            )
        })
        .collect()
}

/// What a folder renders, as kubectl parses it; the API server is not asked.
fn rendered(folder: &str) -> BTreeSet<String> {
    let objects = read_as_kubectl("-k", folder);
    objects.iter().flat_map(names).collect()
}

#[test]
fn everything_is_installed_under_its_final_name() {
    let _cluster = installed();
    let wanted: BTreeSet<_> = INSTALLED.map(str::to_owned).into();
    assert_eq!(rendered("config/default"), wanted);
    assert_eq!(names(&get(&["-k", "config/default"])), wanted);
}

#[test]
fn parts_have_the_same_names_and_no_namespace() {
    let _cluster = installed();
    let whole = rendered("config/default");
    for folder in ["config/manager", "config/rbac", "config/agent"] {
        let part = rendered(folder);
        assert!(part.is_subset(&whole), "{folder}: {part:?}");
        assert!(!part.contains("Namespace/sked-system"), "{folder}");
        assert!(!part.contains("CustomResourceDefinition/schedexts.sked.schedkit.io"));
    }
}

#[test]
fn kustomize_renders_every_folder_without_a_warning() {
    let _cluster = any();
    for folder in FOLDERS {
        let rendered = kubectl(&["kustomize", &format!("config/{folder}")]);
        assert_eq!(rendered.status, 0, "{}", rendered.stderr);
        assert_eq!(rendered.stderr, "", "{folder}");
    }
}

/// Components are for overlays: this is one beside a copy of config.
#[test]
fn components_of_verified_give_the_manager_logins() {
    let _cluster = any();
    let folder = tempfile::tempdir().unwrap();
    let config = testkit::program::tree().join("config");
    let mut copy = Command::new("cp");
    let copied = copy.arg("-r").arg(config).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    let overlay = folder.path().join("mine");
    std::fs::create_dir(&overlay).unwrap();
    let verified = folder.path().join("config/verified");
    let role = std::fs::read_to_string(verified.join("pull-secrets/namespace.yaml")).unwrap();
    std::fs::write(overlay.join("a.yaml"), role.replace("NAMESPACE", "a")).unwrap();
    let kustomization = "resources: [../config/verified, a.yaml]\n\
        components: [../config/verified/pull-secrets, ../config/verified/registry-auth]\n";
    std::fs::write(overlay.join("kustomization.yaml"), kustomization).unwrap();
    let overlay = overlay.to_str().unwrap();
    let mut added = rendered(overlay);
    for name in rendered("config/verified") {
        assert!(added.remove(&name), "{name}");
    }
    let expected = [
        "a/Role/sked-pull-secrets",
        "a/RoleBinding/sked-pull-secrets",
    ];
    assert_eq!(added, expected.map(str::to_owned).into());
    let text = must(&["kustomize", overlay]);
    for part in [
        "- --pull-secrets",
        "- --registry-auth=/etc/sked/registry-auth/.dockerconfigjson",
        "secretName: sked-registry-auth",
        "name: sked-trust-policy",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn the_api_server_knows_every_field() {
    let _cluster = installed();
    let definitions = monitoring();
    must(&["create", "-f", definitions.to_str().unwrap()]);
    for name in ["podmonitors", "prometheusrules", "servicemonitors"] {
        let crd = format!("crd/{name}.monitoring.coreos.com");
        must(&[
            "wait",
            "--for=condition=Established",
            &crd,
            "--timeout=180s",
        ]);
    }
    for folder in FOLDERS {
        let folder = format!("config/{folder}");
        let applied = kubectl(&[
            "apply",
            "--dry-run=server",
            "--validate=strict",
            "-k",
            &folder,
        ]);
        assert_eq!(applied.status, 0, "{folder}: {}", applied.stderr);
        assert!(
            !applied.stderr.contains("Warning"),
            "{folder}: {}",
            applied.stderr
        );
    }
    // The check works: an unknown field is rejected.
    let folder = tempfile::tempdir().unwrap();
    let wrong = must(&["kustomize", "config/prometheus"]).replace("bearerTokenFile", "bearer");
    std::fs::write(folder.path().join("wrong.yaml"), wrong).unwrap();
    let file = folder.path().to_str().unwrap();
    let applied = kubectl(&["apply", "--dry-run=server", "--validate=strict", "-f", file]);
    rejected(&applied, "unknown field \"spec.endpoints[0].bearer\"");
    must(&["delete", "-f", definitions.to_str().unwrap()]);
}

#[test]
fn the_policies_compile_without_warnings() {
    let _cluster = installed();
    for policy in [
        "sked-schedext-authors",
        "sked-manager-nodes",
        "sked-manager-daemonsets",
        "sked-manager-pods",
        "sked-agent-reports",
    ] {
        let policy = eventually("the expressions are type-checked", || {
            let policy = get(&["validatingadmissionpolicy", policy]);
            let seen = policy["status"]["observedGeneration"] == policy["metadata"]["generation"];
            seen.then_some(policy)
        });
        let warnings = &policy["status"]["typeChecking"]["expressionWarnings"];
        assert!(warnings.is_null(), "{warnings:#}");
        assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    }
}

#[test]
fn the_manager_pod_passes_restricted_and_the_service_selects_it_alone() {
    let _cluster = installed();
    let system = ["-n", "sked-system"];
    let labels = get(&["namespace", "sked-system"])["metadata"]["labels"].clone();
    assert_eq!(labels["control-plane"], "controller-manager");
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    // Pod Security accepts it, or it would not exist; without a node it is pending.
    let pods = eventually("the manager's pod is created", || {
        let pods = get(&[
            &["pods", "-l", "control-plane=controller-manager"],
            &system[..],
        ]
        .concat());
        (!pods["items"].as_array().unwrap().is_empty()).then_some(pods)
    });
    let pods = pods["items"].as_array().unwrap();
    assert_eq!(pods.len(), 1, "one replica");
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("sked-controller-manager-"), "{name}");
    let service = get(&[
        &["service", "sked-controller-manager-metrics-service"],
        &system[..],
    ]
    .concat());
    assert_eq!(service["spec"]["ports"][0]["port"], 8443);
    for (key, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(&pods[0]["metadata"]["labels"][key], value, "{key}");
    }
    let container = &pods[0]["spec"]["containers"][0];
    assert_eq!(container["image"], "controller:latest");
    let args = container["args"].to_string();
    assert!(args.contains("--leader-elect"), "{args}");
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
}
