//! The manager and what agents report. The test writes the reports of agents: reports that no real kernel makes
//! on demand (nonsense, another boot, another node, silence) are written here. The same with real
//! kernels is tested on real nodes.

use lab::oci::{Image, Registry};
use serde_json::{Value, json};
use testkit::wait::TIMEOUT;
use testkit::{Manager, Shared, kwok};

pub(crate) const NAMESPACE: &str = "kernel-reports";
const NODES: [&str; 4] = ["one", "two", "three", "four"];
/// The boot ID that kwok gives every node.
const BOOT: &str = "00000000-0000-0000-0000-000000000000";
const GATE: &str = "sked.schedkit.io/Attached";

#[test]
fn gates_and_status_follow_reports_that_can_be_trusted() {
    let fixture = Fixture::up();
    fixture.agents(true);
    fixture.report("one", &json!({"state": "disabled"}));
    fixture.schedext("lab", "one");
    fixture.until("a pod exists and is not attached", || {
        (fixture.pod("one").is_object()
            && fixture.condition("lab", "Progressing") == "True/RollingOut")
            .then_some(())
    });
    assert_eq!(fixture.gate("one"), "");

    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_condition("lab", "Ready", "True/Attached");
    fixture.await_gate("one", "True/Attached");
    let status = fixture.cluster.field(NAMESPACE, "schedext/lab", "/status");
    assert_eq!(
        (&status["ops"], &status["counts"]["attached"]),
        (&json!("lab_1.0"), &json!(1))
    );

    fixture.report("one", &json!({"state": "disabled"}));
    fixture.await_condition("lab", "Degraded", "True/Detached");
    fixture.await_gate("one", "False/Detached");
    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_condition("lab", "Ready", "True/Attached");

    fixture.await_gate("one", "True/Attached");

    // An unknown state, an invalid name and no state at all: Unknown, and no gate is written.
    for nonsense in [
        json!({"state": "bypassing"}),
        json!({"state": "enabled", "ops": "a b"}),
        json!({}),
    ] {
        fixture.report("one", &nonsense);
        fixture.await_condition("lab", "Ready", "Unknown/NoKernelReport");
        assert_eq!(fixture.gate("one"), "True/Attached", "{nonsense}");
        fixture.report("one", &enabled("lab_1.0"));
        fixture.await_condition("lab", "Ready", "True/Attached");
    }
    // A report of another boot, or of another node of the same name.
    fixture.report("one", &json!({"state": "disabled", "bootID": "another"}));
    fixture.await_condition("lab", "Ready", "Unknown/NoKernelReport");
    fixture.forge("one", &json!({"state": "disabled"}));
    fixture.await_message("lab", "earlier node");
    fixture.await_gate("one", "True/Attached");
    // A report of a node that does not exist is ignored.
    fixture.forge("nowhere", &enabled("lab_1.0"));
    fixture.report("one", &enabled("lab_1.0"));
    fixture.await_condition("lab", "Ready", "True/Attached");

    // Without a ready agent a report is not trusted, whatever it contains.
    fixture.agents(false);
    fixture.await_condition("lab", "Ready", "Unknown/NoKernelReport");
    fixture.report("one", &json!({"state": "disabled"}));
    fixture.await_message("lab", "not ready");
    fixture.await_gate("one", "True/Attached");
    fixture.agents(true);
    fixture.await_condition("lab", "Degraded", "True/Detached");
    fixture.await_gate("one", "False/Detached");

    one_wrong_name_disturbs_one_node(&fixture);
    a_foreign_scheduler_keeps_its_node(&fixture);
    a_kernel_without_sched_ext_is_excluded(&fixture);
    a_kernel_that_is_too_old_for_its_image_is_reported(&fixture);
    let log = fixture.manager.log();
    assert!(
        !log.contains("panicked") && !log.contains("break the rules"),
        "{log}"
    );
}

/// The agent of the first node reports another name than those of the others: a foreign scheduler, or
/// somebody with its token. Nobody's pod is moved.
fn one_wrong_name_disturbs_one_node(fixture: &Fixture) {
    let nodes = &NODES[1..];
    fixture.report(nodes[0], &json!({"state": "disabled"}));
    let spec = json!({
        "sched": "registry.example/scx_lab:1",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "is", "operator": "In", "values": nodes}]}],
        }}},
    });
    fixture.cluster.schedext(NAMESPACE, "fleet", &spec);
    let uids = || -> Vec<Value> {
        let pods = nodes.iter().map(|node| fixture.pod(node));
        pods.map(|pod| pod["metadata"]["uid"].clone()).collect()
    };
    fixture.until("every node has a pod", || {
        uids().iter().all(Value::is_string).then_some(())
    });
    let before = uids();
    fixture.report(nodes[0], &enabled("evil"));
    fixture.until("the first name is believed", || {
        let path = "/status/counts/attached";
        let attached = fixture.cluster.field(NAMESPACE, "schedext/fleet", path);
        (attached == 1 || attached.is_null()).then_some(())
    });
    for node in &nodes[1..] {
        fixture.report(node, &enabled("lab_1.0"));
    }
    let problem = || {
        fixture
            .cluster
            .field(NAMESPACE, "schedext/fleet", "/status/problems/0")
    };
    fixture.until("the first node has a problem", || {
        let problem = problem();
        (problem["node"] == nodes[0] && problem["reason"] == "ForeignScheduler").then_some(())
    });
    // Longer than a change of a node's eligibility is debounced.
    std::thread::sleep(std::time::Duration::from_secs(8));
    assert_eq!(uids(), before, "{}", problem());
    for node in nodes {
        assert_eq!(fixture.owner(node), Value::Null, "{node}");
    }
    assert_eq!(fixture.gate(nodes[1]), "True/Attached");
    fixture
        .cluster
        .kubectl(&["delete", "-n", NAMESPACE, "schedext", "fleet"]);
    fixture.until("its pods are gone", || {
        uids().iter().all(Value::is_null).then_some(())
    });
    for node in nodes {
        let args = ["delete", "schedextnode", node, "--ignore-not-found"];
        fixture.cluster.kubectl(&args);
    }
}

/// The node is free again when the foreign scheduler is gone.
fn a_foreign_scheduler_keeps_its_node(fixture: &Fixture) {
    fixture.report("two", &enabled("stranger"));
    fixture.schedext("late", "two");
    fixture.await_condition("late", "Conflicted", "True/ForeignScheduler");
    assert_eq!(fixture.owner("two"), "foreign");
    assert_eq!(
        fixture.pod("two"),
        Value::Null,
        "no pod of ours was created there"
    );
    fixture.report("two", &json!({"state": "disabled"}));
    fixture.await_condition("late", "Conflicted", "False/NoConflict");
    fixture.until("a pod exists", || {
        fixture.pod("two").is_object().then_some(())
    });
    fixture.report("two", &enabled("late_2.0"));
    fixture.await_condition("late", "Ready", "True/Attached");
    assert_eq!(fixture.owner("two"), Value::Null);
}

/// The node is reported and labelled, and used when it has another kernel.
fn a_kernel_without_sched_ext_is_excluded(fixture: &Fixture) {
    fixture.report(
        "three",
        &json!({"supported": false, "kernelRelease": "6.1.0"}),
    );
    fixture.schedext("old", "three");
    fixture.await_condition("old", "Ready", "False/UnsupportedKernel");
    assert_eq!(fixture.owner("three"), "unsupported");
    assert_eq!(fixture.pod("three"), Value::Null);
    let counts = fixture
        .cluster
        .field(NAMESPACE, "schedext/old", "/status/counts");
    assert_eq!(
        (&counts["desired"], &counts["unsupported"]),
        (&json!(0), &json!(1))
    );
    fixture.report("three", &json!({"state": "disabled"}));
    fixture.until("a pod exists", || {
        fixture.pod("three").is_object().then_some(())
    });
}

/// The image is read from a real registry. The node is not excluded, and what the kernel reports
/// takes precedence.
fn a_kernel_that_is_too_old_for_its_image_is_reported(fixture: &Fixture) {
    let minimum = ("org.schedkit.scheduler.kernel.min-version", "6.12");
    let labels = [(minimum.0.to_owned(), minimum.1.to_owned())].into();
    let image = Image::new("amd64", &[], &["/nothing"], &labels).unwrap();
    let registry = Registry::new(fixture.cluster.registry());
    registry.push_image("scx_new", "1", &image).unwrap();
    let release = json!({"state": "disabled", "kernelRelease": "6.11.7-backport"});
    fixture.report("four", &release);
    let image = format!("{}/scx_new:1", fixture.cluster.registry());
    fixture.schedext_of("new", "four", &image);
    let problem = |name: &str| {
        let path = format!("/status/problems/0/{name}");
        let problem = fixture.cluster.field(NAMESPACE, "schedext/new", &path);
        problem.as_str().unwrap_or_default().to_owned()
    };
    fixture.until("the problem is reported", || {
        (problem("reason") == "KernelTooOld").then_some(())
    });
    let message = problem("message");
    assert!(
        message.contains("6.11.7-backport is older than 6.12"),
        "{message}"
    );
    assert_eq!(fixture.owner("four"), Value::Null);
    fixture.report(
        "four",
        &json!({"state": "enabled", "ops": "lab", "kernelRelease": "6.11.7-backport"}),
    );
    fixture.await_condition("new", "Ready", "True/Attached");
    assert_eq!(problem("reason"), "");
    // The image of the other SchedExts does not exist: logged once.
    let unread = || {
        let log = fixture.manager.log();
        log.matches("cannot be read, so its minimum kernel").count()
    };
    fixture.until("an image that does not exist is logged", || {
        (unread() > 0).then_some(())
    });
    assert_eq!(unread(), 1, "{}", fixture.manager.log());
}

pub(crate) fn enabled(ops: &str) -> Value {
    json!({"state": "enabled", "ops": ops})
}

/// A DaemonSet beside the one of `config/default`, which leaves these nodes out.
const AGENTS: &str = "agents-of-kernel-reports";

pub(crate) struct Fixture {
    pub(crate) manager: Manager,
    pub(crate) cluster: Shared,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let daemonset = format!("daemonset/{AGENTS}");
        let delete = ["delete", "--ignore-not-found"];
        let agents = [&delete[..], &["-n", "sked-system", &daemonset]].concat();
        self.cluster.run(&agents);
        self.cluster
            .run(&[&delete[..], &["schedextnodes", "nowhere"], &NODES].concat());
        let nodes = [&delete[..], &["--wait=false", "nodes"], &NODES].concat();
        self.cluster.run(&nodes);
    }
}

impl Fixture {
    pub(crate) fn up() -> Self {
        let cluster = testkit::control_plane();
        // In all namespaces: a manager that watches some takes no scheduler for foreign. So the
        // SchedExts of tests before this one must be gone, which their namespaces take a while to be.
        testkit::eventually("no SchedExt is left", TIMEOUT, || {
            cluster.list(&["schedexts", "-A"]).is_empty().then_some(())
        });
        // Another test's turn with this fixture may have ended a moment ago.
        testkit::eventually("the namespace and the nodes are gone", TIMEOUT, || {
            let is_gone = |node| cluster.get("", &format!("node/{node}")).is_none();
            let namespace = format!("namespace/{NAMESPACE}");
            let all_gone = cluster.get("", &namespace).is_none() && NODES.into_iter().all(is_gone);
            all_gone.then_some(())
        });
        cluster.namespace(NAMESPACE);
        for name in NODES {
            cluster.create(&kwok::node(name, &json!({"is": name})));
        }
        let registries = cluster.file(
            "registries.yaml",
            &format!("{}: {{security: plain-http}}\n", cluster.registry()),
        );
        let registries = format!("--registries={}", registries.display());
        let manager = cluster.ready_manager(&["--read-images", &registries]);
        Self { manager, cluster }
    }

    /// Agents' pods on the nodes, which kwok makes ready; or none.
    pub(crate) fn agents(&self, exist: bool) {
        let labels = json!({"app.kubernetes.io/component": "node-agent", "test": NAMESPACE});
        let container = json!({
            "name": "agent", "image": "registry.example/sked:1",
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
        });
        let pod = json!({
            "containers": [container], "tolerations": [{"operator": "Exists"}],
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        });
        if exist {
            self.cluster.apply(&json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": AGENTS, "namespace": "sked-system"},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
            }));
        } else {
            let daemonset = format!("daemonset/{AGENTS}");
            self.cluster
                .kubectl(&["delete", "-n", "sked-system", &daemonset]);
        }
    }

    fn schedext(&self, name: &str, node: &str) {
        self.schedext_of(name, node, "registry.example/scx_lab:1");
    }

    fn schedext_of(&self, name: &str, node: &str, image: &str) {
        let spec = json!({"sched": image, "nodeSelector": {"is": node}});
        self.cluster.schedext(NAMESPACE, name, &spec);
    }

    /// Writes the report of a node's agent.
    pub(crate) fn report(&self, node: &str, status: &Value) {
        self.write(node, node, status);
    }

    /// The same with another Node as its owner. That Node exists: the garbage collector would delete
    /// the report otherwise.
    fn forge(&self, node: &str, status: &Value) {
        self.write(node, "two", status);
    }

    fn write(&self, node: &str, owner: &str, status: &Value) {
        // Created again each time, so that its owner is the given one.
        let args = ["delete", "schedextnode", node, "--ignore-not-found"];
        self.cluster.kubectl(&args);
        let uid = self
            .cluster
            .field("", &format!("node/{owner}"), "/metadata/uid");
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": owner, "uid": uid});
        self.cluster.create(&json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
            "metadata": {"name": node, "ownerReferences": [owner]},
        }));
        let now = jiff::Timestamp::now();
        let mut full = json!({"bootID": BOOT, "supported": true, "since": format!("{now:.6}")});
        for (field, value) in status.as_object().unwrap() {
            full[field] = value.clone();
        }
        let patch = json!({"status": full}).to_string();
        let args = [
            "patch",
            "schedextnode",
            node,
            "--subresource=status",
            "--type=merge",
            "-p",
        ];
        self.cluster.kubectl(&[&args[..], &[&patch]].concat());
    }

    pub(crate) fn pod(&self, node: &str) -> Value {
        let selector = format!("--field-selector=spec.nodeName={node}");
        let args = ["get", "pods", "-n", NAMESPACE, "-o", "json", &selector];
        let pods: Value = serde_json::from_str(&self.cluster.kubectl(&args)).unwrap();
        pods["items"][0].clone()
    }

    fn gate(&self, node: &str) -> String {
        condition(&self.pod(node), GATE)
    }

    /// Gates are written beside the status, not with it.
    #[track_caller]
    pub(crate) fn await_gate(&self, node: &str, wanted: &str) {
        let what = format!("the gate on {node} is {wanted}");
        self.until(&what, || (self.gate(node) == wanted).then_some(()));
    }

    pub(crate) fn owner(&self, node: &str) -> Value {
        let path = "/metadata/labels/sked.schedkit.io~1owner";
        self.cluster.field("", &format!("node/{node}"), path)
    }

    fn condition(&self, name: &str, kind: &str) -> String {
        let schedext = self.cluster.get(NAMESPACE, &format!("schedext/{name}"));
        condition(&schedext.unwrap_or_default(), kind)
    }

    #[track_caller]
    pub(crate) fn await_condition(&self, name: &str, kind: &str, wanted: &str) {
        self.until(&format!("{name} is {kind} {wanted}"), || {
            (self.condition(name, kind) == wanted).then_some(())
        });
    }

    /// Waits for this text in the message of the condition Ready.
    #[track_caller]
    fn await_message(&self, name: &str, text: &str) {
        self.until(&format!("{name} reports {text:?}"), || {
            let path = "/status/conditions/0/message";
            let message = self
                .cluster
                .field(NAMESPACE, &format!("schedext/{name}"), path);
            message.as_str()?.contains(text).then_some(())
        });
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut ask: impl FnMut() -> Option<()>) {
        self.manager.eventually(what, || ask().is_some());
    }
}

/// A condition of an object as `True/Attached`; empty when it has none of this type.
fn condition(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|one| one["type"] == kind);
    found.map_or(String::new(), |one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason"))
    })
}
