//! What an agent's account may do, tried by an attacker with the token of one node's agent.

use lab::CommandOutput;
use serde_json::{Value, json};

use testkit::Shared;

use super::fixture::{
    Nodes, RightToGet, User, allowed, apply, eventually, get, installed, kubectl, must, rejected,
};

const ACCOUNT: &str = "sked-node-agent";
const OTHERS: &str = "may write only its own report";
const NO_NODE: &str = "a token that says which node its pod is on";
const OWNER: &str = "has one owner, the Node that its pod is on";

/// A pod of the agents' account that is bound to this node.
fn agent_pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("agent-on-{name}"), "namespace": "sked-system"},
        "spec": {
            "nodeName": name,
            "serviceAccountName": ACCOUNT,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "agent", "image": "controller:latest",
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        },
    })
}

/// An attacker with the token of the agent on this node.
fn attacker_on(node: &str) -> User {
    let pod = format!("agent-on-{node}");
    let uid = get(&["pod", &pod, "-n", "sked-system"])["metadata"]["uid"].clone();
    let bound = [
        "--bound-object-kind=Pod",
        &format!("--bound-object-name={pod}"),
        &format!("--bound-object-uid={}", uid.as_str().unwrap()),
    ];
    let args = ["create", "token", ACCOUNT, "-n", "sked-system"];
    User::with_token(&must(&[&args[..], &bound].concat()))
}

fn report(name: &str) -> Value {
    let uid = get(&["node", name])["metadata"]["uid"].clone();
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "blockOwnerDeletion": false});
    json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
        "metadata": {"name": name, "ownerReferences": [owner]}, "spec": {},
    })
}

fn write_status(user: &User, name: &str) -> CommandOutput {
    let patch = r#"{"status": {"state": "enabled", "ops": "forged"}}"#;
    let args = "--subresource=status --type=merge -p";
    let args: Vec<&str> = args.split(' ').collect();
    user.runs(&[&["patch", "schedextnode", name], &args[..], &[patch]].concat())
}

/// Two nodes with agents, no reports, the policy in force, and an attacker with the token of the
/// agent on `stolen`.
struct Fixture {
    attacker: User,
    right: Option<RightToGet>,
    _nodes: Nodes,
    _cluster: Shared,
}

fn fixture() -> Fixture {
    let cluster = installed();
    let nodes = Nodes::new(&["stolen", "honest"], &json!({}));
    apply(&[agent_pod("stolen"), agent_pod("honest")]);
    let right = RightToGet::grant(ACCOUNT, "sked-system");
    let attacker = attacker_on("stolen");
    eventually("the policy for agents is in force", || {
        let created = attacker.sends("create", &report("honest"));
        must(&["delete", "schedextnodes", "--all"]);
        created
            .stderr
            .contains("ValidatingAdmissionPolicy")
            .then_some(())
    });
    Fixture {
        attacker,
        right: Some(right),
        _nodes: nodes,
        _cluster: cluster,
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        kubectl(&["delete", "schedextnodes", "--all"]);
    }
}

#[test]
fn the_account_of_an_agent_is_limited_to_its_own_report() {
    let mut fixture = fixture();
    let right = fixture.right.take();
    an_agent_writes_the_report_of_its_own_node(&fixture.attacker);
    an_agent_does_not_write_the_report_of_another_node(&fixture.attacker);
    must(&["delete", "schedextnodes", "--all"]);
    a_report_is_owned_by_its_own_node(&fixture.attacker);
    a_token_without_a_node_writes_nothing();
    drop(right);
    rbac_allows_agents_reports_and_nothing_else(&fixture.attacker);
}

fn an_agent_writes_the_report_of_its_own_node(attacker: &User) {
    allowed(&attacker.sends("create", &report("stolen")));
    allowed(&write_status(attacker, "stolen"));
    let status = get(&["schedextnode", "stolen"])["status"].clone();
    assert_eq!(status["ops"], "forged");
    allowed(&attacker.runs(&["delete", "schedextnode", "stolen"]));
}

fn an_agent_does_not_write_the_report_of_another_node(attacker: &User) {
    rejected(&attacker.sends("create", &report("honest")), OTHERS);
    apply(&[report("honest")]);
    rejected(&write_status(attacker, "honest"), OTHERS);
    rejected(
        &attacker.runs(&["delete", "schedextnode", "honest"]),
        OTHERS,
    );
    let status = get(&["schedextnode", "honest"])["status"].clone();
    assert!(status["ops"].is_null(), "{status}");
    // Nor under a name that no node has.
    let mut unknown = report("honest");
    unknown["metadata"]["name"] = json!("no-such-node");
    rejected(&attacker.sends("create", &unknown), OTHERS);
    let mut generated = report("stolen");
    generated["metadata"] = json!({"generateName": "stolen", "ownerReferences": generated["metadata"]["ownerReferences"]});
    rejected(&attacker.sends("create", &generated), OTHERS);
}

fn a_report_is_owned_by_its_own_node(attacker: &User) {
    let mine = report("stolen");
    let other = report("honest")["metadata"]["ownerReferences"][0].clone();
    for (field, value) in [
        ("uid", other["uid"].clone()),
        ("name", json!("honest")),
        ("kind", json!("Namespace")),
        ("apiVersion", json!("example.com/v1")),
    ] {
        let mut wrong = mine.clone();
        wrong["metadata"]["ownerReferences"][0][field] = value;
        rejected(&attacker.sends("create", &wrong), OWNER);
    }
    let mut two = mine.clone();
    two["metadata"]["ownerReferences"]
        .as_array_mut()
        .unwrap()
        .push(other);
    rejected(&attacker.sends("create", &two), OWNER);
    let mut none = mine.clone();
    none["metadata"]["ownerReferences"] = json!([]);
    rejected(&attacker.sends("create", &none), OWNER);
    let mut held = mine.clone();
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    rejected(&attacker.sends("create", &held), "has no finalizers");
    // A report with another owner can be deleted but not written.
    let mut old = mine;
    old["metadata"]["ownerReferences"] = report("honest")["metadata"]["ownerReferences"].clone();
    apply(&[old]);
    rejected(&write_status(attacker, "stolen"), OWNER);
    allowed(&attacker.runs(&["delete", "schedextnode", "stolen"]));
}

fn a_token_without_a_node_writes_nothing() {
    let no_node = User::holding_token_of(ACCOUNT, "sked-system");
    rejected(&no_node.sends("create", &report("stolen")), NO_NODE);
    apply(&[report("stolen")]);
    rejected(&write_status(&no_node, "stolen"), NO_NODE);
    rejected(
        &no_node.runs(&["delete", "schedextnode", "stolen"]),
        NO_NODE,
    );
}

fn rbac_allows_agents_reports_and_nothing_else(attacker: &User) {
    let can = |args: &str| {
        let args: Vec<&str> = args.split(' ').collect();
        attacker
            .runs(&[&["auth", "can-i", "-q"], &args[..]].concat())
            .status
            == 0
    };
    eventually("the right to get is gone", || {
        (!can("get schedextnodes --subresource=status")).then_some(())
    });
    for args in ["create", "delete", "get", "list", "watch"] {
        assert!(can(&format!("{args} schedextnodes")), "{args}");
    }
    assert!(can("patch schedextnodes --subresource=status"));
    for args in [
        "patch schedextnodes",
        "update schedextnodes",
        "deletecollection schedextnodes",
        "list nodes",
        "get nodes",
        "patch nodes",
        "list pods -A",
        "patch pods --subresource=status -A",
        "list schedexts -A",
        "patch schedexts --subresource=status -A",
        "get secrets -n sked-system",
        "create serviceaccounts --subresource=token -n sked-system",
        "create tokenreviews.authentication.k8s.io",
        "update leases.coordination.k8s.io -n sked-system",
    ] {
        assert!(!can(args), "{args}");
    }
}

#[test]
fn the_agents_pod_passes_restricted_and_is_not_the_managers() {
    let _cluster = installed();
    let _nodes = Nodes::new(&["agented"], &json!({"kubernetes.io/os": "linux"}));
    let labels = "app.kubernetes.io/name=sked,app.kubernetes.io/component=node-agent";
    // Pod Security accepts it, or it would not exist; no kubelet runs it.
    let pod = eventually("an agent's pod is created", || {
        let pods = get(&["pods", "-n", "sked-system", "-l", labels]);
        pods["items"].as_array().unwrap().first().cloned()
    });
    assert!(pod["metadata"]["labels"]["control-plane"].is_null());
    let spec = &pod["spec"];
    assert_eq!(spec["serviceAccountName"], ACCOUNT);
    assert_eq!(spec["priorityClassName"], "sked-node-agent");
    for absent in ["hostNetwork", "hostPID", "hostIPC", "hostUsers"] {
        assert!(spec[absent].is_null(), "{absent}: {spec:#}");
    }
    let volumes = spec["volumes"].as_array().unwrap();
    assert!(
        volumes
            .iter()
            .all(|volume| volume.get("hostPath").is_none())
    );
    assert_eq!(
        spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"],
        true
    );
}
