//! schedctl on a node of a cluster whose kernel has a scheduler of sked's: a real kubelet, a real
//! containerd and a real kernel. The DaemonSet is the one that sked would make, put there by hand:
//! what schedctl sees of it is the kubelet's and containerd's doing.

#![cfg(test)]

mod ground;

use serde_json::{Value, json};

use ground::{Site, words};

const DRIVERS: [&str; 2] = ["podman", "containerd"];

#[test]
fn what_sked_runs_is_recognised_named_and_left_alone() {
    let site = Site::up("test-schedctl-node");
    for driver in DRIVERS {
        assert_eq!(site.status(driver)["status"], "idle");
    }
    site.apply(&daemonset(&site.image("scx_lab")));
    site.await_kernel("enabled\n");
    // The kernel is quicker than the kubelet's report.
    let path = "/status/containerStatuses/0/containerID";
    let pod = site.eventually("the kubelet tells of it", || {
        Some(site.pod()).filter(|pod| pod.pointer(path).is_some())
    });
    let id = pod.pointer(path).and_then(Value::as_str).unwrap();
    let id = id.strip_prefix("containerd://").unwrap();
    for driver in DRIVERS {
        let status = site.status(driver);
        println!("{status:#}");
        assert_eq!(status["status"], "running");
        assert_eq!(status["discrepancy"], Value::Null);
        assert_eq!(status["managed_by"], "sked");
        let sked = json!({
            "namespace": "default", "pod": pod["metadata"]["name"], "daemonset": "lab",
        });
        assert_eq!(status["sked"], sked);
        let scheduler = &status["scheduler"];
        assert_eq!(scheduler["name"], "scx_lab", "{scheduler:#}");
        assert_eq!(scheduler["container_id"], id);
        assert_eq!(scheduler["image"], site.image("scx_lab").as_str());
        assert_eq!(scheduler["driver"], "containerd");
        assert!(scheduler["started_at"].is_string(), "{scheduler:#}");
        let pid = scheduler["pid"].to_string();
        let program = site.node(&["cat", &format!("/proc/{pid}/cmdline")]).stdout;
        assert!(program.contains("scx_lab"), "{program}");
        assert_eq!(status["kernel"]["enabled"], true);
        assert_eq!(status["containers"], json!([]), "it is not ours");
        assert_eq!(status["warnings"], json!([]), "{status:#}");

        let text = site.schedctl(&["-d", driver, "status"]);
        assert_eq!(text.status, 0);
        let name = pod["metadata"]["name"].as_str().unwrap();
        assert!(
            text.stdout.contains(&format!("default/{name}")),
            "{}",
            text.stdout
        );
        assert!(
            text.stdout.contains("sked, DaemonSet default/lab"),
            "{}",
            text.stdout
        );
        println!("{}", text.stdout);

        let ps = site.schedctl(&["-d", driver, "ps"]);
        assert_eq!((ps.status, ps.stdout.as_str()), (0, "PID  ID  NAME\n"));
        for word in ["scx_lab", name, "lab", &id[..12]] {
            let refused = site.schedctl(&["-d", driver, "stop", word]);
            assert_eq!(refused.status, 1, "{}", words(&refused));
            let said = words(&refused);
            assert!(said.contains("does not end what sked runs"), "{said}");
            assert!(
                said.contains("kubectl -n default edit schedext lab"),
                "{said}"
            );
        }
        let nobody = site.schedctl(&["-d", driver, "stop", "scx_nobody"]);
        assert_eq!(nobody.status, 0, "{}", words(&nobody));
        for (verb, word) in [("run", "scx_lab"), ("switch", "scx_bpfland")] {
            let refused = site.schedctl(&["-d", driver, verb, &site.image(word)]);
            assert_eq!(refused.status, 5, "{}", words(&refused));
            let said = words(&refused);
            assert!(said.contains("for sked (pod default/lab-"), "{said}");
            assert!(
                said.contains("kubectl -n default edit schedext lab"),
                "{said}"
            );
        }
    }
    let after = site.pod();
    for path in ["/metadata/uid", "/status/containerStatuses/0/restartCount"] {
        assert_eq!(after.pointer(path), pod.pointer(path), "nobody touched it");
    }
    site.kubectl(&["delete", "daemonset", "lab"]);
    site.await_kernel("disabled\n");
    site.eventually("nothing runs here any more", || {
        let status = site.status("podman");
        (status["status"] == "idle" && status["managed_by"].is_null()).then_some(())
    });
}

/// As sked makes it, as far as a kubelet sees it.
fn daemonset(image: &str) -> Value {
    let labels = json!({
        "name": "lab", "managed-by": "sked-controller", "sked.schedkit.io/root-scheduler": "true",
    });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "lab", "labels": {"managed-by": "sked-controller"}},
        "spec": {
            "selector": {"matchLabels": {"name": "lab"}},
            "template": {"metadata": {"labels": labels}, "spec": {
                "hostPID": true,
                "containers": [{
                    "name": "scx", "image": image, "securityContext": {"privileged": true},
                    "volumeMounts": [{"name": "boot", "mountPath": "/boot", "readOnly": true}],
                }],
                "volumes": [{"name": "boot", "hostPath": {"path": "/boot"}}],
            }},
        },
    })
}
