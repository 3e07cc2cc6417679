//! `kubectl sx` beside a running manager: what it explains and plans is what the manager does, and
//! what it asks for the manager carries out. The test writes what kernels and kubelets would report.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use testkit::program;

use crate::kernel_reports::{Fixture, NAMESPACE, enabled};
use crate::rollouts::{daemonset_of, eject};

#[test]
fn what_the_plugin_says_is_what_the_manager_does() {
    let fixture = Fixture::up();
    fixture.agents(true);
    for node in ["one", "two", "three"] {
        fixture.report(node, &json!({"state": "disabled"}));
    }
    fixture.report(
        "four",
        &json!({"supported": false, "kernelRelease": "6.1.0"}),
    );
    fixture.await_agents();
    let plugin = Plugin::new(&fixture, fixture.cluster.admin_kubeconfig());

    what_is_missing_is_named(&plugin);
    the_first_version_is_planned(&plugin);
    a_promoted_roll_out_is_complete(&plugin);
    a_node_that_another_has_is_explained(&plugin);
    a_second_version_is_paused_and_aborted(&plugin);
    it_is_tried_again_and_undone(&plugin);
    a_quarantine_is_explained_and_ended(&plugin);
    without_rights_the_right_is_named(&fixture);
    let log = fixture.manager.log();
    assert!(
        !log.contains("panicked") && !log.contains("break the rules"),
        "{log}"
    );
}

struct Plugin<'a> {
    fixture: &'a Fixture,
    kubeconfig: PathBuf,
}

impl<'a> Plugin<'a> {
    fn new(fixture: &'a Fixture, kubeconfig: &Path) -> Self {
        Self {
            fixture,
            kubeconfig: kubeconfig.to_owned(),
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut plugin = Command::new(program::kubectl_sx());
        plugin.args(args).args(["-n", NAMESPACE, "--kubeconfig"]);
        plugin.arg(&self.kubeconfig).output().unwrap()
    }

    /// What it prints; it must succeed.
    #[track_caller]
    fn text(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8_lossy(&output.stderr);
        let log = self.fixture.manager.log();
        assert!(
            output.status.success(),
            "kubectl sx {}: {err}\n{log}",
            args.join(" ")
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let text = self.text(&[args, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Its error; it must fail with exit code 1.
    #[track_caller]
    fn error(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{}: {out}", args.join(" "));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[track_caller]
    fn plan(&self, spec: &Value) -> Value {
        let object = testkit::cluster::schedext(NAMESPACE, "lab", spec);
        let file = self.fixture.cluster.file("plan.json", &object.to_string());
        self.json(&["plan", "--server-dry-run", "-f", file.to_str().unwrap()])
    }

    /// The row of a node in `nodes`.
    #[track_caller]
    fn node(&self, name: &str) -> Value {
        let nodes = self.json(&["nodes"]);
        let mut nodes = nodes["nodes"].as_array().unwrap().iter();
        let row = nodes.find(|row| row["node"] == name);
        row.unwrap().clone()
    }

    /// The text of a rule in `explain`.
    #[track_caller]
    fn rule(&self, node: &str, rule: &str, subject: &str) -> String {
        let explained = self.json(&["explain", node]);
        let rules = explained["rules"].as_array().unwrap().iter();
        let is_it = |one: &&Value| {
            let about = one["subject"].as_str().unwrap_or_default();
            one["rule"] == rule && about.contains(subject)
        };
        let found: Vec<_> = rules.filter(is_it).collect();
        match &found[..] {
            [one] => one["text"].as_str().unwrap().to_owned(),
            other => panic!("{rule} {subject}: {other:?} of {explained}"),
        }
    }

    fn phase(&self) -> Value {
        let path = "/status/rollout/phase";
        self.fixture.cluster.field(NAMESPACE, "schedext/lab", path)
    }

    #[track_caller]
    fn await_daemonset(&self, node: &str, name: &str) {
        let what = format!("{node} has a pod of {name}");
        self.fixture.until(&what, || {
            let pod = self.fixture.pod(node);
            let runs = pod["status"]["phase"] == "Running"
                && pod["metadata"]["deletionTimestamp"].is_null();
            (runs && daemonset_of(self.fixture, node) == name).then_some(())
        });
    }

    /// Which nodes have an owner label.
    fn labelled(&self) -> Vec<&'static str> {
        let nodes = ["four", "one", "three", "two"].into_iter();
        nodes
            .filter(|node| self.fixture.owner(node).is_string())
            .collect()
    }
}

impl Fixture {
    /// Until then the kernels are unknown.
    fn await_agents(&self) {
        self.until("the agents are ready", || {
            let agents = ["pods", "-n", "sked-system", "-l", "test=kernel-reports"];
            let pods = self.cluster.list(&agents);
            let is_ready = |pod: &&Value| {
                let conditions = pod["status"]["conditions"].as_array();
                let mut conditions = conditions.into_iter().flatten();
                conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
            };
            (pods.iter().filter(is_ready).count() == 4).then_some(())
        });
    }
}

fn spec(version: u32) -> Value {
    json!({
        "sched": format!("registry.example/scx_lab:{version}"),
        "rollout": {"soak": "3s", "canary": {"nodes": 1, "soak": "1h"}},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "is", "operator": "In", "values": ["one", "two", "four"]},
            ]}],
        }}},
    })
}

/// The names in a list of writes: labelled nodes, or DaemonSets.
fn written(plan: &Value, write: &str, name: &str) -> Vec<String> {
    let writes = plan["writes"].as_array().unwrap().iter();
    let writes = writes.filter(|one| one["write"] == write);
    let mut names: Vec<_> = writes
        .map(|one| one[name].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn what_is_missing_is_named(plugin: &Plugin<'_>) {
    let error = plugin.error(&["rollout", "status", "lab"]);
    assert!(error.contains("there is no SchedExt"), "{error}");
    assert!(error.contains("the namespace has none"), "{error}");
    let error = plugin.error(&["explain", "nowhere"]);
    assert!(error.contains("there is no node nowhere"), "{error}");
    let text = plugin.text(&["status"]);
    assert!(text.contains("no SchedExt"), "{text}");
    let pod = plugin
        .fixture
        .cluster
        .file("pod.yaml", "apiVersion: v1\nkind: Pod\n");
    let error = plugin.error(&["plan", "-f", pod.to_str().unwrap()]);
    assert!(error.contains("is Pod of v1, not a SchedExt"), "{error}");
    // A rule of the CRD.
    let object = testkit::cluster::schedext(NAMESPACE, "lab", &json!({"sched": ""}));
    let file = plugin
        .fixture
        .cluster
        .file("invalid.json", &object.to_string());
    let file = file.to_str().unwrap();
    let error = plugin.error(&["plan", "--server-dry-run", "-f", file]);
    assert!(error.contains("the API server rejects it"), "{error}");
}

fn the_first_version_is_planned(plugin: &Plugin<'_>) {
    let fixture = plugin.fixture;
    let plan = plugin.plan(&spec(1));
    let planned = &plan["schedexts"][0];
    assert_eq!(planned["change"], "new", "{plan}");
    assert_eq!(planned["phase"], "Canary", "{plan}");
    assert_eq!(written(&plan, "label", "node"), ["one"], "{plan}");
    let daemonset = format!("{NAMESPACE}/lab-canary");
    assert_eq!(written(&plan, "create", "daemonset"), [daemonset], "{plan}");
    assert_eq!(fixture.cluster.get(NAMESPACE, "schedext/lab"), None);

    fixture.cluster.schedext(NAMESPACE, "lab", &spec(1));
    plugin.await_daemonset("one", "lab-canary");
    assert_eq!(plugin.labelled(), ["one"]);
    assert_eq!(fixture.cluster.get(NAMESPACE, "daemonset/lab"), None);
    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_gate("one", "True/Attached");

    assert_eq!(plugin.rule("one", "selection", "canary"), "selects it");
    assert!(
        plugin
            .rule("one", "label rule", "")
            .contains("a canary runs only where")
    );
    assert!(
        plugin
            .rule("four", "eligibility", "")
            .contains("unsupported")
    );
    assert!(
        plugin
            .rule("four", "kernel", "")
            .contains("6.1.0 has no sched_ext")
    );
    let lacks = plugin.rule("three", "selection", "canary");
    assert!(lacks.contains("none of the canary's"), "{lacks}");
    assert_eq!(plugin.node("four")["state"], "Unsupported");
    let row = plugin.node("one");
    assert_eq!(row["owner"], format!("{NAMESPACE}/lab"));
    assert_eq!(
        (&row["scheduler"], &row["state"]),
        (&json!("lab_1.0"), &json!("Attached"))
    );
    let tree = plugin.text(&["status", "lab"]);
    for text in [
        "canary of the base",
        "Canary for ",
        "one  Attached  lab_1.0",
        "soak left 59m",
    ] {
        assert!(tree.contains(text), "{text:?} in\n{tree}");
    }
    let error = plugin.error(&["rollout", "status", "lab", "--timeout", "1s"]);
    assert!(error.contains("was not complete within 1 s"), "{error}");
    let error = plugin.error(&["rollout", "undo", "lab"]);
    assert!(error.contains("nothing can be undone"), "{error}");
}

fn a_promoted_roll_out_is_complete(plugin: &Plugin<'_>) {
    let fixture = plugin.fixture;
    let done = plugin.text(&["rollout", "promote", "lab"]);
    assert!(done.contains("promote was carried out"), "{done}");
    plugin.await_daemonset("two", "lab");
    fixture.report("two", &enabled("lab_1.0"));
    plugin.await_daemonset("one", "lab");
    fixture.report("one", &enabled("lab_1.0"));
    let status = plugin.text(&["rollout", "status", "lab", "--timeout", "3m"]);
    assert!(
        status.ends_with("Complete: complete on 2 nodes\n"),
        "{status}"
    );
    // Its stable DaemonSet would run there.
    assert_eq!(plugin.labelled(), ["four"]);
    let tree = plugin.text(&["status", "lab"]);
    let text = "no SchedExt may use it: unsupported";
    assert!(tree.contains(text), "{tree}");
    let history = plugin.json(&["rollout", "history", "lab"]);
    let roles = history["revisions"].as_array().unwrap().iter();
    let roles: Vec<_> = roles.map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["Current", "LastGood"]);
    let plan = plugin.plan(&spec(1));
    assert_eq!(plan["schedexts"][0]["change"], "unchanged", "{plan}");
    assert_eq!(plan["writes"], json!([]), "{plan}");
}

fn a_node_that_another_has_is_explained(plugin: &Plugin<'_>) {
    let cluster = &plugin.fixture.cluster;
    let rival = json!({"sched": "registry.example/rival:1", "nodeSelector": {"is": "two"}});
    cluster.schedext(NAMESPACE, "rival", &rival);
    plugin
        .fixture
        .await_condition("rival", "Conflicted", "True/OwnedByOther");
    assert!(
        plugin
            .rule("two", "claim", "/lab")
            .contains("who has the node keeps it")
    );
    assert!(
        plugin
            .rule("two", "claim", "/rival")
            .contains("after it: priority 0")
    );
    let lacks = plugin.rule("one", "selection", "/rival");
    assert_eq!(lacks, "its label is is one, not two");
    let tree = plugin.text(&["status", "rival"]);
    assert!(tree.contains("two  kernel-reports/lab owns it"), "{tree}");
    cluster.kubectl(&["delete", "-n", NAMESPACE, "schedext", "rival"]);
    plugin.fixture.until("the label is gone", || {
        plugin.fixture.owner("two").is_null().then_some(())
    });
}

fn a_second_version_is_paused_and_aborted(plugin: &Plugin<'_>) {
    let fixture = plugin.fixture;
    let paused = plugin.text(&["rollout", "pause", "lab"]);
    assert!(paused.ends_with("paused\n"), "{paused}");
    let mut second = spec(2);
    second["rollout"]["paused"] = json!(true);
    let plan = plugin.plan(&second);
    assert_eq!(plan["writes"], json!([]), "{plan}");
    let then = plan["schedexts"][0]["then"].to_string();
    assert!(then.contains("the roll-out is paused"), "{plan}");
    fixture.cluster.schedext(NAMESPACE, "lab", &second);
    fixture.await_condition("lab", "Progressing", "True/RolloutPaused");
    let shown = plugin.text(&["rollout", "status", "lab", "--watch=false"]);
    assert!(shown.contains("RolloutPaused"), "{shown}");

    let plan = plugin.plan(&spec(2));
    assert_eq!(written(&plan, "label", "node"), ["one"], "{plan}");
    let daemonset = format!("{NAMESPACE}/lab-canary");
    assert_eq!(written(&plan, "create", "daemonset"), [daemonset], "{plan}");
    plugin.text(&["rollout", "resume", "lab"]);
    plugin.await_daemonset("one", "lab-canary");
    assert_eq!(plugin.labelled(), ["four", "one"]);
    let done = plugin.text(&["rollout", "abort", "lab"]);
    assert!(done.contains("abort was carried out"), "{done}");
    let output = plugin.run(&["rollout", "status", "lab", "--timeout", "3m"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("RolledBack: failed: Aborted"), "{shown}");
    let error = plugin.error(&["rollout", "abort", "lab"]);
    assert!(error.contains("did not carry out abort#2"), "{error}");
    assert!(error.contains("nothing is being rolled out"), "{error}");
    plugin.await_daemonset("one", "lab");
    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_gate("one", "True/Attached");
}

fn it_is_tried_again_and_undone(plugin: &Plugin<'_>) {
    let fixture = plugin.fixture;
    let done = plugin.text(&["rollout", "retry", "lab"]);
    assert!(done.contains("retry was carried out"), "{done}");
    plugin.await_daemonset("one", "lab-canary");
    assert_eq!(plugin.phase(), "Canary");
    let done = plugin.text(&["rollout", "undo", "lab"]);
    assert!(done.contains("registry.example/scx_lab:1"), "{done}");
    let sched = fixture
        .cluster
        .field(NAMESPACE, "schedext/lab", "/spec/sched");
    assert_eq!(sched, "registry.example/scx_lab:1");
    plugin.await_daemonset("one", "lab");
    fixture.report("one", &enabled("lab_1.0"));
    let status = plugin.text(&["rollout", "status", "lab", "--timeout", "3m"]);
    assert!(status.contains("Complete"), "{status}");
}

fn a_quarantine_is_explained_and_ended(plugin: &Plugin<'_>) {
    let fixture = plugin.fixture;
    let spec = json!({
        "sched": "registry.example/scx_lab:3", "nodeSelector": {"is": "three"},
        "onFailure": {"action": "Detach", "ejections": 1},
    });
    fixture.cluster.schedext(NAMESPACE, "third", &spec);
    plugin.await_daemonset("three", "third");
    fixture.report("three", &enabled("lab_3.0"));
    fixture.await_gate("three", "True/Attached");
    // An end counts from the second after the one in which the roll-out was complete.
    std::thread::sleep(std::time::Duration::from_secs(2));
    fixture.report("three", &json!({"state": "disabled"}));
    eject(fixture, "three");
    fixture.until("it is in quarantine", || {
        let path = "/status/quarantined/0/node";
        let node = fixture.cluster.field(NAMESPACE, "schedext/third", path);
        (node == "three").then_some(())
    });
    let why = plugin.rule("three", "selection", "/third");
    assert!(why.contains("it is in quarantine there"), "{why}");
    assert!(why.contains("Stall"), "{why}");
    assert_eq!(plugin.node("three")["state"], "Quarantined");
    let error = plugin.error(&["release", "one"]);
    assert!(error.contains("these are: three"), "{error}");
    let done = plugin.text(&["release", "three"]);
    assert!(done.contains("release three was carried out"), "{done}");
    plugin.await_daemonset("three", "third");
    fixture.report("three", &enabled("lab_3.0"));
    fixture.await_gate("three", "True/Attached");
}

fn without_rights_the_right_is_named(fixture: &Fixture) {
    let nobody = fixture.cluster.kubeconfig("nobody", |config| {
        config["users"][0]["user"]["as"] = json!("nobody");
    });
    let plugin = Plugin::new(fixture, &nobody);
    let error = plugin.error(&["nodes"]);
    assert!(error.contains("you have no right to list "), "{error}");
    let error = plugin.error(&["rollout", "pause", "lab"]);
    let expected = format!("you have no right to get schedexts in the namespace {NAMESPACE}");
    assert!(error.contains(&expected), "{error}");
    let output = plugin.run(&["status"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("note: you have no right to list schedexts"),
        "{text}"
    );
}
