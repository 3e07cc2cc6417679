//! The manager and what agents report, on a real API server with real controllers. kwok plays the
//! kubelets, and the test plays the agents: what no real kernel does on order (lies, silence, a
//! report of another node) is said here. `tests/kernel_truth` is the same with real kernels.

#![cfg(test)]

mod support;

use lab::oci::{Image, Registry};
use serde_json::{Value, json};
use support::{Cluster, Manager};

const BOOT: &str = "00000000-0000-0000-0000-000000000000";
const GATE: &str = "sked.schedkit.io/Attached";

#[test]
fn gates_and_status_follow_what_can_be_believed() {
    let site = Site::up();
    site.agents(true);
    site.report("one", &json!({"state": "disabled"}));
    site.schedext("lab", "one");
    site.until("a pod is there, and not attached", || {
        (site.pod("one").is_object() && site.condition("lab", "Progressing") == "True/RollingOut")
            .then_some(())
    });
    assert_eq!(site.gate("one"), "");

    site.report("one", &enabled("lab_1.0"));
    site.await_condition("lab", "Ready", "True/Attached");
    assert_eq!(site.gate("one"), "True/Attached");
    let status = site.cluster.look("default", "schedext/lab", "/status");
    assert_eq!(
        (&status["ops"], &status["counts"]["attached"]),
        (&json!("lab_1.0"), &json!(1))
    );

    site.report("one", &json!({"state": "disabled"}));
    site.await_condition("lab", "Degraded", "True/Detached");
    assert_eq!(site.gate("one"), "False/Detached");
    site.report("one", &enabled("lab_1.0"));
    site.await_condition("lab", "Ready", "True/Attached");

    // A word that we do not know, a name that is none, and no word at all: not known, and no gate
    // is touched.
    for nonsense in [
        json!({"state": "bypassing"}),
        json!({"state": "enabled", "ops": "a b"}),
        json!({}),
    ] {
        site.report("one", &nonsense);
        site.await_condition("lab", "Ready", "Unknown/NoKernelReport");
        assert_eq!(site.gate("one"), "True/Attached", "{nonsense}");
        site.report("one", &enabled("lab_1.0"));
        site.await_condition("lab", "Ready", "True/Attached");
    }
    // A report of another start, or of another node of the same name.
    site.report("one", &json!({"state": "disabled", "bootID": "another"}));
    site.await_condition("lab", "Ready", "Unknown/NoKernelReport");
    site.forge("one", &json!({"state": "disabled"}));
    site.await_message("lab", "earlier node");
    assert_eq!(site.gate("one"), "True/Attached");
    // For a node that is not there: nobody's business.
    site.forge("nowhere", &enabled("lab_1.0"));
    site.report("one", &enabled("lab_1.0"));
    site.await_condition("lab", "Ready", "True/Attached");

    // Without its agent a report is not believed, whatever it says.
    site.agents(false);
    site.await_condition("lab", "Ready", "Unknown/NoKernelReport");
    site.report("one", &json!({"state": "disabled"}));
    site.await_message("lab", "not ready");
    assert_eq!(site.gate("one"), "True/Attached");
    site.agents(true);
    site.await_condition("lab", "Degraded", "True/Detached");
    assert_eq!(site.gate("one"), "False/Detached");

    a_foreign_scheduler_has_its_node(&site);
    a_kernel_without_sched_ext_is_left_out(&site);
    a_kernel_that_is_too_old_for_its_image_is_told(&site);
    let log = site.manager.log();
    assert!(
        !log.contains("panicked") && !log.contains("break the rules"),
        "{log}"
    );
}

/// It holds the node, which comes back when it is gone.
fn a_foreign_scheduler_has_its_node(site: &Site) {
    site.report("two", &enabled("stranger"));
    site.schedext("late", "two");
    site.await_condition("late", "Conflicted", "True/ForeignScheduler");
    assert_eq!(site.owner("two"), "foreign");
    assert_eq!(site.pod("two"), Value::Null, "nothing of ours came there");
    site.report("two", &json!({"state": "disabled"}));
    site.await_condition("late", "Conflicted", "False/NoConflict");
    site.until("a pod is there", || {
        site.pod("two").is_object().then_some(())
    });
    site.report("two", &enabled("late_2.0"));
    site.await_condition("late", "Ready", "True/Attached");
    assert_eq!(site.owner("two"), Value::Null);
}

/// It is told and labelled, and comes back with another kernel.
fn a_kernel_without_sched_ext_is_left_out(site: &Site) {
    site.report(
        "three",
        &json!({"supported": false, "kernelRelease": "6.1.0"}),
    );
    site.schedext("old", "three");
    site.await_condition("old", "Ready", "False/UnsupportedKernel");
    assert_eq!(site.owner("three"), "unsupported");
    assert_eq!(site.pod("three"), Value::Null);
    let counts = site
        .cluster
        .look("default", "schedext/old", "/status/counts");
    assert_eq!(
        (&counts["desired"], &counts["unsupported"]),
        (&json!(0), &json!(1))
    );
    site.report("three", &json!({"state": "disabled"}));
    site.until("a pod is there", || {
        site.pod("three").is_object().then_some(())
    });
}

/// The image is read from a real registry. The node is not left out, and what the kernel says
/// counts for more.
fn a_kernel_that_is_too_old_for_its_image_is_told(site: &Site) {
    let floor = ("org.schedkit.scheduler.kernel.min-version", "6.12");
    let labels = [(floor.0.to_owned(), floor.1.to_owned())].into();
    let image = Image::new("amd64", &[], &["/nothing"], &labels).unwrap();
    let registry = Registry::new(site.cluster.registry());
    registry.push_image("scx_new", "1", &image).unwrap();
    let release = json!({"state": "disabled", "kernelRelease": "6.11.7-backport"});
    site.report("four", &release);
    let image = format!("{}/scx_new:1", site.cluster.registry());
    site.schedext_of("new", "four", &image);
    let problem = |name: &str| {
        let path = format!("/status/problems/0/{name}");
        let problem = site.cluster.look("default", "schedext/new", &path);
        problem.as_str().unwrap_or_default().to_owned()
    };
    site.until("the problem is told", || {
        (problem("reason") == "KernelTooOld").then_some(())
    });
    let message = problem("message");
    assert!(
        message.contains("6.11.7-backport is older than 6.12"),
        "{message}"
    );
    assert_eq!(site.owner("four"), Value::Null);
    site.report(
        "four",
        &json!({"state": "enabled", "ops": "lab", "kernelRelease": "6.11.7-backport"}),
    );
    site.await_condition("new", "Ready", "True/Attached");
    assert_eq!(problem("reason"), "");
    // The images of the other SchedExts are nowhere: said once each, and nothing else came of it.
    let unread = || {
        let log = site.manager.log();
        log.matches("cannot be read, so its minimum kernel").count()
    };
    site.until("an image that is nowhere is told", || {
        (unread() > 0).then_some(())
    });
    assert_eq!(unread(), 1, "{}", site.manager.log());
}

fn enabled(ops: &str) -> Value {
    json!({"state": "enabled", "ops": ops})
}

struct Site {
    cluster: Cluster,
    manager: Manager,
}

impl Site {
    fn up() -> Self {
        let cluster = Cluster::crowd("test-sked-reports");
        cluster.namespace("sked-system");
        let (label, value) = lab::kwok::LABEL;
        for name in ["one", "two", "three", "four"] {
            cluster.node(
                name,
                &json!({label: value, "is": name, "kubernetes.io/hostname": name}),
            );
        }
        let registries = cluster.file(
            "registries.yaml",
            &format!("{}: {{security: plain-http}}\n", cluster.registry()),
        );
        let registries = format!("--registries={}", registries.display());
        let manager = cluster.ready_manager(&["--read-images", &registries]);
        Self { cluster, manager }
    }

    /// The agents' pods, which kwok calls ready.
    fn agents(&self, there: bool) {
        let labels = json!({"app.kubernetes.io/component": "node-agent"});
        let pod = json!({"containers": [{"name": "agent", "image": "registry.example/sked:1"}], "tolerations": [{"operator": "Exists"}]});
        let daemonset = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "sked-node-agent", "namespace": "sked-system"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        });
        if there {
            self.cluster.apply(&daemonset);
        } else {
            let words = ["delete", "-n", "sked-system", "daemonset/sked-node-agent"];
            self.cluster.kubectl(&words);
        }
    }

    fn schedext(&self, name: &str, node: &str) {
        self.schedext_of(name, node, "registry.example/scx_lab:1");
    }

    fn schedext_of(&self, name: &str, node: &str, image: &str) {
        let spec = json!({"sched": image, "nodeSelector": {"is": node}});
        self.cluster.schedext("default", name, &spec);
    }

    /// What a node's agent would write.
    fn report(&self, node: &str, says: &Value) {
        let uid = self
            .cluster
            .look("", &format!("node/{node}"), "/metadata/uid");
        self.write(node, &uid, says);
    }

    /// The same with the uid of a Node that is not there.
    fn forge(&self, node: &str, says: &Value) {
        self.write(node, &json!("00000000-dead-dead-dead-000000000000"), says);
    }

    fn write(&self, node: &str, uid: &Value, says: &Value) {
        // A report is written anew, so that its owner is the one that is meant.
        let words = ["delete", "schedextnode", node, "--ignore-not-found"];
        self.cluster.kubectl(&words);
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid});
        self.cluster.create(&json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
            "metadata": {"name": node, "ownerReferences": [owner]},
        }));
        let now = jiff::Timestamp::now();
        let mut status = json!({"bootID": BOOT, "supported": true, "since": format!("{now:.6}")});
        for (field, value) in says.as_object().unwrap() {
            status[field] = value.clone();
        }
        let patch = json!({"status": status}).to_string();
        let words = [
            "patch",
            "schedextnode",
            node,
            "--subresource=status",
            "--type=merge",
            "-p",
        ];
        // The garbage collector may have been quicker with one that is owned by nobody.
        self.cluster.try_kubectl(&[&words[..], &[&patch]].concat());
    }

    fn pod(&self, node: &str) -> Value {
        let selector = format!("--field-selector=spec.nodeName={node}");
        let words = ["get", "pods", "-n", "default", "-o", "json", &selector];
        let pods: Value = serde_json::from_str(&self.cluster.kubectl(&words)).unwrap();
        pods["items"][0].clone()
    }

    fn gate(&self, node: &str) -> String {
        condition(&self.pod(node), GATE)
    }

    fn owner(&self, node: &str) -> Value {
        let path = "/metadata/labels/sked.schedkit.io~1owner";
        self.cluster.look("", &format!("node/{node}"), path)
    }

    fn condition(&self, name: &str, kind: &str) -> String {
        let schedext = self.cluster.get("default", &format!("schedext/{name}"));
        condition(&schedext.unwrap_or_default(), kind)
    }

    #[track_caller]
    fn await_condition(&self, name: &str, kind: &str, wanted: &str) {
        self.until(&format!("{name} is {kind} {wanted}"), || {
            (self.condition(name, kind) == wanted).then_some(())
        });
    }

    /// What Ready says in full.
    #[track_caller]
    fn await_message(&self, name: &str, words: &str) {
        self.until(&format!("{name} says {words:?}"), || {
            let path = "/status/conditions/0/message";
            let message = self
                .cluster
                .look("default", &format!("schedext/{name}"), path);
            message.as_str()?.contains(words).then_some(())
        });
    }

    #[track_caller]
    fn until(&self, what: &str, mut ask: impl FnMut() -> Option<()>) {
        self.manager.eventually(what, || ask().is_some());
    }
}

/// A condition of an object as `True/Attached`; nothing when it has none of that type.
fn condition(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|one| one["type"] == kind);
    found.map_or(String::new(), |one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason"))
    })
}
