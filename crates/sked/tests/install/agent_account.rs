//! What an agent's account may do, as whoever stole the token of one node's agent would find out.

use std::ops::Deref;

use lab::CommandOutput;
use serde_json::{Value, json};

use crate::ground::{
    Person, allowed, alone, apply, eventually, get, install, kubectl, let_kubectl_look, must,
    refused,
};

const ACCOUNT: &str = "sked-node-agent";
const OTHERS: &str = "may write only its own report";
const NAMELESS: &str = "a token that says which node its pod is on";
const OWNER: &str = "has one owner, the Node that its pod is on";

/// A Node, and a pod of the agents' account that is bound to it.
fn node_with_agent(name: &str) -> [Value; 2] {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    let pod = json!({
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
    });
    [node, pod]
}

/// Whoever holds the token of the agent on this node.
fn thief_of(node: &str) -> Person {
    let pod = format!("agent-on-{node}");
    let uid = get(&["pod", &pod, "-n", "sked-system"])["metadata"]["uid"].clone();
    let bound = [
        "--bound-object-kind=Pod",
        &format!("--bound-object-name={pod}"),
        &format!("--bound-object-uid={}", uid.as_str().unwrap()),
    ];
    let words = ["create", "token", ACCOUNT, "-n", "sked-system"];
    Person::with_token(&must(&[&words[..], &bound].concat()))
}

fn report(name: &str) -> Value {
    let uid = get(&["node", name])["metadata"]["uid"].clone();
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "blockOwnerDeletion": false});
    json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
        "metadata": {"name": name, "ownerReferences": [owner]}, "spec": {},
    })
}

fn lie(thief: &Person, name: &str) -> CommandOutput {
    let patch = r#"{"status": {"state": "enabled", "ops": "lie"}}"#;
    let words = "--subresource=status --type=merge -p";
    let words: Vec<&str> = words.split(' ').collect();
    thief.says(&[&["patch", "schedextnode", name], &words[..], &[patch]].concat())
}

/// The thief of one node's token. No kubelet lets go of the pods afterwards, so that is done here.
struct Theft(Person);

impl Deref for Theft {
    type Target = Person;

    fn deref(&self) -> &Person {
        &self.0
    }
}

impl Drop for Theft {
    fn drop(&mut self) {
        let pods =
            "delete pods agent-on-stolen agent-on-honest -n sked-system --force --grace-period=0";
        kubectl(&pods.split(' ').collect::<Vec<_>>());
        kubectl(&["delete", "nodes", "stolen", "honest"]);
    }
}

/// Two nodes with agents, no reports, and the policy in force.
fn ground() -> Theft {
    install();
    apply(&[node_with_agent("stolen"), node_with_agent("honest")].concat());
    let_kubectl_look(ACCOUNT, "sked-system");
    let thief = thief_of("stolen");
    eventually("the policy for agents is in force", || {
        let made = thief.hands("create", &report("honest"));
        must(&["delete", "schedextnodes", "--all"]);
        made.stderr
            .contains("ValidatingAdmissionPolicy")
            .then_some(())
    });
    Theft(thief)
}

#[test]
fn the_report_of_its_own_node_is_its_to_write() {
    let _alone = alone();
    let thief = ground();
    allowed(&thief.hands("create", &report("stolen")));
    allowed(&lie(&thief, "stolen"));
    let status = get(&["schedextnode", "stolen"])["status"].clone();
    assert_eq!(status["ops"], "lie");
    allowed(&thief.says(&["delete", "schedextnode", "stolen"]));
}

#[test]
fn the_report_of_another_node_is_not() {
    let _alone = alone();
    let thief = ground();
    refused(&thief.hands("create", &report("honest")), OTHERS);
    apply(&[report("honest")]);
    refused(&lie(&thief, "honest"), OTHERS);
    refused(&thief.says(&["delete", "schedextnode", "honest"]), OTHERS);
    let status = get(&["schedextnode", "honest"])["status"].clone();
    assert!(status["ops"].is_null(), "{status}");
    // Nor under a name that nobody has.
    let mut nobodys = report("honest");
    nobodys["metadata"]["name"] = json!("no-such-node");
    refused(&thief.hands("create", &nobodys), OTHERS);
    let mut generated = report("stolen");
    generated["metadata"] = json!({"generateName": "stolen", "ownerReferences": generated["metadata"]["ownerReferences"]});
    refused(&thief.hands("create", &generated), OTHERS);
}

#[test]
fn a_report_goes_with_its_own_node_and_no_other() {
    let _alone = alone();
    let thief = ground();
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
        refused(&thief.hands("create", &wrong), OWNER);
    }
    let mut two = mine.clone();
    two["metadata"]["ownerReferences"]
        .as_array_mut()
        .unwrap()
        .push(other);
    refused(&thief.hands("create", &two), OWNER);
    let mut none = mine.clone();
    none["metadata"]["ownerReferences"] = json!([]);
    refused(&thief.hands("create", &none), OWNER);
    let mut held = mine.clone();
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    refused(&thief.hands("create", &held), "has no finalizers");
    // What is not this Node's can be deleted, and not be filled.
    let mut old = mine;
    old["metadata"]["ownerReferences"] = report("honest")["metadata"]["ownerReferences"].clone();
    apply(&[old]);
    refused(&lie(&thief, "stolen"), OWNER);
    allowed(&thief.says(&["delete", "schedextnode", "stolen"]));
}

#[test]
fn a_token_that_names_no_node_writes_nothing() {
    let _alone = alone();
    let _thief = ground();
    let nameless = Person::holding_token_of(ACCOUNT, "sked-system");
    refused(&nameless.hands("create", &report("stolen")), NAMELESS);
    apply(&[report("stolen")]);
    refused(&lie(&nameless, "stolen"), NAMELESS);
    refused(
        &nameless.says(&["delete", "schedextnode", "stolen"]),
        NAMELESS,
    );
}

#[test]
fn rbac_gives_agents_reports_and_nothing_else() {
    let _alone = alone();
    let thief = ground();
    let can = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        thief
            .says(&[&["auth", "can-i", "-q"], &words[..]].concat())
            .status
            == 0
    };
    must(&["delete", "clusterrolebinding", "looks"]);
    eventually("what was lent is given back", || {
        (!can("get schedextnodes --subresource=status")).then_some(())
    });
    for words in ["create", "delete", "get", "list", "watch"] {
        assert!(can(&format!("{words} schedextnodes")), "{words}");
    }
    assert!(can("patch schedextnodes --subresource=status"));
    for words in [
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
        assert!(!can(words), "{words}");
    }
}

#[test]
fn the_agents_pod_passes_restricted_and_is_not_the_managers() {
    let _alone = alone();
    install();
    apply(&[
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "agented", "labels": {"kubernetes.io/os": "linux"}}}),
    ]);
    let labels = "app.kubernetes.io/name=sked,app.kubernetes.io/component=node-agent";
    // No kubelet is there: that it was made at all is the answer of Pod Security.
    let pod = eventually("an agent's pod is made", || {
        let pods = get(&["pods", "-n", "sked-system", "-l", labels]);
        pods["items"].as_array().unwrap().first().cloned()
    });
    assert!(pod["metadata"]["labels"]["control-plane"].is_null());
    let spec = &pod["spec"];
    assert_eq!(spec["serviceAccountName"], ACCOUNT);
    for absent in [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostUsers",
        "priorityClassName",
    ] {
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
    must(&["delete", "node", "agented"]);
    assert_ne!(kubectl(&["get", "node", "agented"]).status, 0);
}
