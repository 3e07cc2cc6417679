//! Who may write SchedExts: a user with rights in one namespace, an editor, and a user who may set
//! a priority.

use serde_json::{Value, json};

use lab::CommandOutput;
use testkit::Shared;

use super::fixture::{
    TEAM, User, allowed, apply, bound, bound_to_cluster_role, eventually, get, installed, must,
    output_of, rejected, role, schedext,
};

const WRITE: (&str, &str, &str) = ("sked.schedkit.io", "schedexts", "*");
const WRITE_STATUS: (&str, &str, &str) = ("sked.schedkit.io", "schedexts/status", "*");
const DAEMONSETS: (&str, &str, &str) = ("apps", "daemonsets", "create");
const NO_DAEMONSETS: &str = "must be allowed to create daemonsets.apps in namespace \"team\"";

/// Writes SchedExts in the team's namespace and may not create DaemonSets.
fn ann() -> User {
    User::named("ann")
}

/// May do both, there.
fn bob() -> User {
    User::named("bob")
}

/// Roles for both; what is in the namespace is deleted when it is dropped.
struct Fixture(Shared);

impl Drop for Fixture {
    fn drop(&mut self) {
        let kinds = "schedexts,rolebindings,roles";
        self.0.run(&["delete", kinds, "--all", "-n", TEAM]);
    }
}

fn fixture() -> Fixture {
    let cluster = installed();
    apply(&[
        role(TEAM, "writes", &[WRITE]),
        role(TEAM, "writes-and-runs", &[WRITE, DAEMONSETS]),
        bound(TEAM, "writes", "ann"),
        bound(TEAM, "writes-and-runs", "bob"),
    ]);
    Fixture(cluster)
}

fn merge(user: &User, name: &str, patch: &Value) -> CommandOutput {
    let patch = patch.to_string();
    user.runs(&[
        "patch",
        "schedext",
        name,
        "-n",
        TEAM,
        "--type=merge",
        "-p",
        &patch,
    ])
}

#[test]
fn authors_must_be_allowed_to_create_daemonsets_there() {
    let _fixture = fixture();
    let object = schedext(TEAM, "mine", json!({}));
    rejected(&ann().sends("create", &object), NO_DAEMONSETS);
    allowed(&bob().sends("create", &object));
    let other = json!({"spec": {"sched": "registry.example/other:1"}});
    rejected(&merge(&ann(), "mine", &other), NO_DAEMONSETS);
    allowed(&merge(&bob(), "mine", &other));
}

#[test]
fn rights_in_one_namespace_do_not_count_in_another() {
    let fixture = fixture();
    fixture.0.namespace("others");
    apply(&[
        role("others", "writes", &[WRITE]),
        bound("others", "writes", "bob"),
    ]);
    let object = schedext("others", "mine", json!({}));
    rejected(&bob().sends("create", &object), "in namespace \"others\"");
}

/// Off by default: config/node-pools.
#[test]
fn a_namespace_can_be_limited_to_its_pool_of_nodes() {
    let cluster = installed();
    cluster.namespace("pooled");
    must(&["label", "namespace", "pooled", "schedkit.io/node-pool=a"]);
    must(&["apply", "-k", "config/node-pools"]);
    let create = |name: &str, spec: Value| {
        let object = schedext("pooled", name, spec);
        let args = ["create", "--dry-run=server", "-f", "-"];
        output_of(&cluster.send(&args, &object))
    };
    let refused = "may claim only nodes of its pool";
    eventually("the policy is in force", || {
        let all = create("all", json!({}));
        all.stderr.contains(refused).then_some(())
    });
    let own = json!({"schedkit.io/node-pool": "a"});
    let other = json!({"schedkit.io/node-pool": "b"});
    rejected(&create("other", json!({"nodeSelector": other})), refused);
    allowed(&create("own", json!({"nodeSelector": own})));
    let pools = |selector: &Value| json!([{"name": "x", "nodeSelector": selector}]);
    let escaping = json!({"nodeSelector": own, "pools": pools(&json!({"zone": "z"}))});
    rejected(&create("escaping", escaping), refused);
    let both = json!({"nodeSelector": own, "pools": pools(&own)});
    allowed(&create("both", both));
    must(&["delete", "-k", "config/node-pools"]);
}

#[test]
fn metadata_needs_no_right_to_create_daemonsets() {
    let _fixture = fixture();
    allowed(&bob().sends("create", &schedext(TEAM, "mine", json!({"priority": 0}))));
    allowed(&merge(
        &ann(),
        "mine",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    // As the garbage collector does for a foreground deletion.
    allowed(&merge(
        &ann(),
        "mine",
        &json!({"metadata": {"finalizers": ["example.com/wait"]}}),
    ));
    allowed(&merge(
        &ann(),
        "mine",
        &json!({"metadata": {"finalizers": null}}),
    ));
    // The same spec is no change.
    let same = json!({"spec": get(&["schedext", "mine", "-n", TEAM])["spec"]});
    allowed(&merge(&ann(), "mine", &same));
    allowed(&ann().runs(&["delete", "schedext", "mine", "-n", TEAM]));
}

/// A request steers what runs as root, and so does the revision that nodes go back to.
#[test]
fn requests_and_good_revisions_need_the_right_to_create_daemonsets() {
    let _fixture = fixture();
    apply(&[
        role(TEAM, "writes-statuses", &[WRITE_STATUS]),
        bound(TEAM, "writes-statuses", "ann"),
    ]);
    allowed(&bob().sends("create", &schedext(TEAM, "mine", json!({}))));
    let request = json!({"metadata": {"annotations": {"sked.schedkit.io/request": "retry"}}});
    rejected(&merge(&ann(), "mine", &request), NO_DAEMONSETS);
    allowed(&merge(&bob(), "mine", &request));
    let status = |status: Value| {
        let patch = json!({"status": status}).to_string();
        let args = [
            "patch",
            "schedext",
            "mine",
            "-n",
            TEAM,
            "--subresource=status",
        ];
        ann().runs(&[&args[..], &["--type=merge", "-p", &patch]].concat())
    };
    allowed(&status(json!({"revision": "0"})));
    let good = json!({
        "revision": "1", "selection": "1", "since": "2026-01-01T00:00:00Z",
        "spec": {"sched": "registry.example/evil:1"},
    });
    rejected(&status(json!({"lastGood": good})), NO_DAEMONSETS);
    rejected(&status(json!({"previousGood": good})), NO_DAEMONSETS);
    let accepted = json!({"spec": {"sched": "registry.example/evil:1"}});
    rejected(&status(json!({"accepted": accepted})), NO_DAEMONSETS);
}

#[test]
fn the_editor_role_alone_is_not_enough_and_edit_does_not_include_it() {
    let _fixture = fixture();
    apply(&[
        bound_to_cluster_role(TEAM, "sked-schedext-editor-role", "eve"),
        bound_to_cluster_role(TEAM, "edit", "ed"),
        bound_to_cluster_role(TEAM, "admin", "adam"),
        bound_to_cluster_role(TEAM, "sked-schedext-viewer-role", "vic"),
    ]);
    let object = schedext(TEAM, "mine", json!({}));
    rejected(&User::named("eve").sends("create", &object), NO_DAEMONSETS);
    for (user, text) in [
        ("ed", "cannot create"),
        ("adam", "cannot create"),
        ("vic", "cannot create"),
    ] {
        rejected(&User::named(user).sends("create", &object), text);
    }
    // Both roles together are enough.
    apply(&[bound_to_cluster_role(TEAM, "edit", "eve")]);
    allowed(&User::named("eve").sends("create", &object));
    allowed(&User::named("vic").runs(&["get", "schedexts", "-n", TEAM]));
}

#[test]
fn a_priority_needs_a_right_of_its_own() {
    let _fixture = fixture();
    let first = schedext(TEAM, "first", json!({"priority": 1}));
    let system = schedext(
        TEAM,
        "system",
        json!({"priorityClassName": "system-node-critical"}),
    );
    let last = schedext(
        TEAM,
        "last",
        json!({"priority": -1, "priorityClassName": "batch"}),
    );
    rejected(
        &bob().sends("create", &first),
        "needs the verb \"prioritize\"",
    );
    rejected(
        &bob().sends("create", &system),
        "system-node-critical is for what a cluster cannot do without",
    );
    allowed(&bob().sends("create", &last));
    rejected(
        &merge(&bob(), "last", &json!({"spec": {"priority": 7}})),
        "or must leave it at 0",
    );

    // It is needed in the whole cluster: in the namespace alone it does not count.
    let verb = ("sked.schedkit.io", "schedexts", "prioritize");
    apply(&[
        role(TEAM, "first-here", &[verb]),
        bound(TEAM, "first-here", "bob"),
    ]);
    rejected(&bob().sends("create", &first), "in the whole cluster");

    let (verb, on) = ("--verb=prioritize", "--resource=schedexts.sked.schedkit.io");
    must(&["create", "clusterrole", "goes-first", verb, on]);
    must(&[
        "create",
        "clusterrolebinding",
        "goes-first",
        "--clusterrole=goes-first",
        "--user=bob",
    ]);
    allowed(&bob().sends("create", &first));
    allowed(&bob().sends("create", &system));

    // Without the right metadata can be written, and a spec with a priority cannot.
    must(&["delete", "clusterrolebinding", "goes-first"]);
    allowed(&merge(
        &bob(),
        "first",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    rejected(
        &merge(&bob(), "first", &json!({"spec": {"args": ["-v"]}})),
        "prioritize",
    );
    allowed(&merge(&bob(), "first", &json!({"spec": {"priority": 0}})));
    must(&["delete", "clusterrole", "goes-first"]);
}
