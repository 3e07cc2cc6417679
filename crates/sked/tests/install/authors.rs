//! Who may write SchedExts: somebody with rights in one namespace, an editor, and somebody who may
//! go before others.

use serde_json::{Value, json};

use crate::ground::{
    Person, allowed, alone, apply, bound, bound_to_cluster_role, get, install, must, namespace,
    refused, role, schedext,
};

const TEAM: &str = "team";
const WRITE: (&str, &str, &str) = ("sked.schedkit.io", "schedexts", "*");
const DAEMONSETS: (&str, &str, &str) = ("apps", "daemonsets", "create");
const NO_DAEMONSETS: &str = "must be allowed to create daemonsets.apps in namespace \"team\"";

/// Writes SchedExts in the team's namespace and may not make DaemonSets.
fn ann() -> Person {
    Person::user("ann")
}

/// May do both, there.
fn bob() -> Person {
    Person::user("bob")
}

fn ground() {
    install();
    apply(&[
        namespace(TEAM),
        role(TEAM, "writes", &[WRITE]),
        role(TEAM, "writes-and-runs", &[WRITE, DAEMONSETS]),
        bound(TEAM, "writes", "ann"),
        bound(TEAM, "writes-and-runs", "bob"),
    ]);
    must(&["delete", "schedexts", "--all", "-n", TEAM]);
}

fn merge(person: &Person, name: &str, patch: &Value) -> lab::CommandOutput {
    let patch = patch.to_string();
    person.says(&[
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
fn a_schedext_is_for_those_who_may_make_daemonsets_there() {
    let _alone = alone();
    ground();
    let wanted = schedext(TEAM, "mine", json!({}));
    refused(&ann().hands("create", &wanted), NO_DAEMONSETS);
    allowed(&bob().hands("create", &wanted));
    let other = json!({"spec": {"sched": "registry.example/other:1"}});
    refused(&merge(&ann(), "mine", &other), NO_DAEMONSETS);
    allowed(&merge(&bob(), "mine", &other));
}

#[test]
fn rights_in_one_namespace_are_none_in_another() {
    let _alone = alone();
    ground();
    apply(&[
        namespace("others"),
        role("others", "writes", &[WRITE]),
        bound("others", "writes", "bob"),
    ]);
    let wanted = schedext("others", "mine", json!({}));
    refused(&bob().hands("create", &wanted), "in namespace \"others\"");
}

#[test]
fn labels_owners_and_status_need_no_right_to_run_pods() {
    let _alone = alone();
    ground();
    allowed(&bob().hands("create", &schedext(TEAM, "mine", json!({"priority": 0}))));
    allowed(&merge(
        &ann(),
        "mine",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    // What the garbage collector does when a deletion waits for what is owned.
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
    // The same spec again is no change.
    let same = json!({"spec": get(&["schedext", "mine", "-n", TEAM])["spec"]});
    allowed(&merge(&ann(), "mine", &same));
    allowed(&ann().says(&["delete", "schedext", "mine", "-n", TEAM]));
}

#[test]
fn the_editor_role_alone_runs_nothing_and_is_no_part_of_edit() {
    let _alone = alone();
    ground();
    apply(&[
        bound_to_cluster_role(TEAM, "sked-schedext-editor-role", "eve"),
        bound_to_cluster_role(TEAM, "edit", "ed"),
        bound_to_cluster_role(TEAM, "admin", "adam"),
        bound_to_cluster_role(TEAM, "sked-schedext-viewer-role", "vic"),
    ]);
    let wanted = schedext(TEAM, "mine", json!({}));
    refused(&Person::user("eve").hands("create", &wanted), NO_DAEMONSETS);
    for (person, words) in [
        ("ed", "cannot create"),
        ("adam", "cannot create"),
        ("vic", "cannot create"),
    ] {
        refused(&Person::user(person).hands("create", &wanted), words);
    }
    // Both roles together are what it takes.
    apply(&[bound_to_cluster_role(TEAM, "edit", "eve")]);
    allowed(&Person::user("eve").hands("create", &wanted));
    allowed(&Person::user("vic").says(&["get", "schedexts", "-n", TEAM]));
    must(&["delete", "rolebinding", "eve-edit", "-n", TEAM]);
}

#[test]
fn going_before_others_is_a_right_of_its_own() {
    let _alone = alone();
    ground();
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
    refused(
        &bob().hands("create", &first),
        "needs the verb \"prioritize\"",
    );
    refused(
        &bob().hands("create", &system),
        "system-node-critical is for what a cluster cannot do without",
    );
    allowed(&bob().hands("create", &last));
    refused(
        &merge(&bob(), "last", &json!({"spec": {"priority": 7}})),
        "or must leave it at 0",
    );

    // The right is the cluster's: in the namespace alone it is worth nothing.
    let verb = ("sked.schedkit.io", "schedexts", "prioritize");
    apply(&[
        role(TEAM, "first-here", &[verb]),
        bound(TEAM, "first-here", "bob"),
    ]);
    refused(&bob().hands("create", &first), "in the whole cluster");

    must(&[
        "delete",
        "clusterrole,clusterrolebinding",
        "goes-first",
        "--ignore-not-found",
    ]);
    let (verb, on) = ("--verb=prioritize", "--resource=schedexts.sked.schedkit.io");
    must(&["create", "clusterrole", "goes-first", verb, on]);
    must(&[
        "create",
        "clusterrolebinding",
        "goes-first",
        "--clusterrole=goes-first",
        "--user=bob",
    ]);
    allowed(&bob().hands("create", &first));
    allowed(&bob().hands("create", &system));

    // What has the right keeps its metadata free, and its spec for those who have the right too.
    must(&["delete", "clusterrolebinding", "goes-first"]);
    allowed(&merge(
        &bob(),
        "first",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    refused(
        &merge(&bob(), "first", &json!({"spec": {"args": ["-v"]}})),
        "prioritize",
    );
    allowed(&merge(&bob(), "first", &json!({"spec": {"priority": 0}})));
}
