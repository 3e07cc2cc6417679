//! A manager with a trust policy, and images in the lab's registry that keys of this test sign: only what
//! is signed gets into DaemonSets, by its digest. What nodes do with a DaemonSet is tested on real
//! nodes.

use std::path::PathBuf;

use k8s_openapi::ByteString;
use lab::oci::{Image, Registry, SignatureLayer, Subject};
use lab::signing::simple_payload;
use rcgen::{KeyPair, SigningKey};
use serde_json::{Value, json};
use testkit::wait::TIMEOUT;
use testkit::{Manager, Shared, kwok};

const NAMESPACE: &str = "verification";
const REPOSITORY: &str = "verification/x";

struct Fixture {
    manager: Option<Manager>,
    cluster: Shared,
    registry: Registry,
    key: KeyPair,
    policy: PathBuf,
}

impl Fixture {
    fn up(args: &[&str]) -> Self {
        let cluster = testkit::control_plane();
        testkit::eventually("no SchedExt is left", TIMEOUT, || {
            cluster.list(&["schedexts", "-A"]).is_empty().then_some(())
        });
        testkit::eventually("the namespace is gone", TIMEOUT, || {
            let namespace = format!("namespace/{NAMESPACE}");
            cluster.get("", &namespace).is_none().then_some(())
        });
        cluster.namespace(NAMESPACE);
        cluster.create(&kwok::node("signed", &json!({"is": "signed"})));
        let registry = Registry::new(cluster.registry());
        let key = KeyPair::generate().unwrap();
        let policy = cluster.file("trust-policy.yaml", "keys:\n- path: trusted.pub\n");
        cluster.file("trusted.pub", &key.public_key_pem());
        let mut fixture = Self {
            manager: None,
            registry,
            key,
            policy,
            cluster,
        };
        fixture.start(args);
        fixture
    }

    fn start(&mut self, args: &[&str]) {
        if let Some(manager) = self.manager.take() {
            manager.stop();
        }
        let named = format!("{}: {{security: plain-http}}\n", self.cluster.registry());
        let named = self.cluster.file("registries.yaml", &named);
        let named = format!("--registries={}", named.display());
        let policy = format!("--trust-policy={}", self.policy.display());
        let args = [&[&*policy, &*named][..], args].concat();
        self.manager = Some(self.cluster.ready_manager(&args));
    }

    /// Pushes an image and returns its reference by digest.
    fn push(&self, tag: &str, text: &str, key: Option<&KeyPair>) -> String {
        let image = Image::marked(text).unwrap();
        self.registry.push_image(REPOSITORY, tag, &image).unwrap();
        let subject = Subject::from(&image);
        if let Some(key) = key {
            let payload = simple_payload(REPOSITORY, &subject.digest);
            let signature = ByteString(key.sign(payload.as_bytes()).unwrap());
            let signature = serde_json::to_value(signature).unwrap();
            let layer = SignatureLayer::by_key(&payload, signature.as_str().unwrap());
            let signed = self
                .registry
                .push_signatures(REPOSITORY, &subject, &[layer]);
            signed.unwrap();
        }
        format!(
            "{}/{REPOSITORY}@{}",
            self.registry.address(),
            subject.digest
        )
    }

    fn asks_for(&self, tag: &str) {
        let sched = format!("{}/{REPOSITORY}:{tag}", self.registry.address());
        let spec = json!({"sched": sched, "nodeSelector": {"is": "signed"}});
        self.cluster.schedext(NAMESPACE, "a", &spec);
    }

    fn runs(&self) -> Option<String> {
        let live = self.cluster.get(NAMESPACE, "daemonset/a")?;
        let image = &live["spec"]["template"]["spec"]["containers"][0]["image"];
        image.as_str().map(str::to_owned)
    }

    fn until_runs(&self, image: &str) {
        testkit::eventually(&format!("{image} runs"), TIMEOUT, || {
            (self.runs().as_deref() == Some(image)).then_some(())
        });
    }

    #[track_caller]
    fn until(&self, status: &str, reason: &str) -> Value {
        testkit::eventually(&format!("Verified is {status}/{reason}"), TIMEOUT, || {
            let found = self.cluster.condition(NAMESPACE, "a", "Verified");
            (found["status"] == status && found["reason"] == reason).then_some(found)
        })
    }

    fn column(&self) -> String {
        let args = [
            "get",
            "sx",
            "a",
            "-n",
            NAMESPACE,
            "-o",
            "wide",
            "--no-headers",
        ];
        self.cluster.kubectl(&args)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.cluster
            .kubectl(&["delete", "schedexts", "--all", "-n", NAMESPACE]);
        self.cluster
            .kubectl(&["delete", "namespace", NAMESPACE, "--wait=false"]);
        self.cluster.kubectl(&["delete", "node", "signed"]);
    }
}

#[test]
fn only_what_the_policy_accepts_gets_into_a_daemonset() {
    let mut fixture = Fixture::up(&[]);
    let one = fixture.push("1", "one", Some(&fixture.key));
    fixture.push("2", "two", None);
    fixture.push("3", "three", Some(&KeyPair::generate().unwrap()));
    fixture.asks_for("2");
    fixture.until("False", "ImageRefused");
    assert_eq!(fixture.runs(), None);

    fixture.asks_for("1");
    fixture.until_runs(&one);
    let verified = fixture.until("True", "Verified");
    assert!(
        verified["message"]
            .as_str()
            .unwrap()
            .contains("key sha256:")
    );
    let status = fixture.cluster.field(NAMESPACE, "schedext/a", "/status");
    assert_eq!(status["resolvedImage"], one);
    assert_eq!(status["verification"], "verified");
    let column = fixture.column();
    assert!(column.contains(" verified"), "{column}");
    assert!(!column.contains("not verified"), "{column}");

    for refused in ["2", "3"] {
        fixture.asks_for(refused);
        fixture.until("False", "ImageRefused");
        assert_eq!(fixture.runs(), Some(one.clone()), "version {refused}");
    }
    fixture.asks_for("missing");
    fixture.until("Unknown", "CannotVerify");
    assert_eq!(fixture.runs(), Some(one.clone()));

    // The tag moves to something unsigned.
    fixture.asks_for("1");
    fixture.until("True", "Verified");
    fixture.push("1", "moved", None);
    let annotate = |request: &str| {
        let request = format!("sked.schedkit.io/request={request}");
        let args = [
            "annotate",
            "--overwrite",
            "sx",
            "a",
            "-n",
            NAMESPACE,
            &request,
        ];
        fixture.cluster.kubectl(&args);
    };
    annotate("refresh");
    fixture.until("False", "ImageRefused");
    assert_eq!(fixture.runs(), Some(one.clone()));
    // And then to something signed.
    let next = fixture.push("1", "next", Some(&fixture.key));
    annotate("refresh#2");
    fixture.until_runs(&next);
    fixture.until("True", "Verified");

    // A manager that starts without its policy and its registry removes nothing.
    std::fs::remove_file(&fixture.policy).unwrap();
    fixture.start(&[]);
    fixture.until("Unknown", "PolicyUnreadable");
    fixture
        .cluster
        .kubectl(&["delete", "daemonset", "a", "-n", NAMESPACE]);
    fixture.until_runs(&next);
}

#[test]
fn a_stricter_policy_is_told_and_enforced_when_asked() {
    let mut fixture = Fixture::up(&[]);
    let one = fixture.push("1", "strict", Some(&fixture.key));
    fixture.asks_for("1");
    fixture.until_runs(&one);
    let other = KeyPair::generate().unwrap();
    fixture.cluster.file("trusted.pub", &other.public_key_pem());
    fixture.until("False", "PolicyViolated");
    assert_eq!(fixture.runs(), Some(one));
    fixture.start(&["--enforce-running"]);
    testkit::eventually("it is taken off", TIMEOUT, || {
        fixture.runs().is_none().then_some(())
    });
    let status = fixture.cluster.field(NAMESPACE, "schedext/a", "/status");
    assert_eq!(status["rejected"]["reason"], "PolicyViolated");
}

#[test]
fn a_registry_that_is_not_named_is_not_asked() {
    let mut fixture = Fixture::up(&[]);
    fixture.push("1", "unnamed", Some(&fixture.key));
    fixture.manager.take().unwrap().stop();
    let policy = format!("--trust-policy={}", fixture.policy.display());
    fixture.manager = Some(fixture.cluster.ready_manager(&[&policy]));
    fixture.asks_for("1");
    let unknown = fixture.until("Unknown", "CannotVerify");
    let message = unknown["message"].as_str().unwrap();
    assert!(message.contains("no public address"), "{message}");
    assert_eq!(fixture.runs(), None);
}
