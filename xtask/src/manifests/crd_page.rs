//! `docs/crd.md`: the fields of both resources, the objects that a SchedExt creates, condition types,
//! reasons and validation rules. It is generated from the schemas and from `sked-api`, so that it
//! cannot disagree with them.

mod field;

use std::fmt::Write as _;

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};
use sked_api::crd::rule::RULES;
use sked_api::{ConditionType, Reason, label};

use super::Derived;

const HEAD: &str = "<!-- Written by `make manifests` from crates/sked-api: edit that. -->

# The resources SchedExt and SchedExtNode

Contents: [SchedExt](#schedext) ([spec](#spec), [status](#status)), [what a SchedExt creates](#what-a-schedext-creates), [conditions and reasons](#conditions-and-reasons), [validation rules](#validation-rules), [SchedExtNode](#schedextnode).

## SchedExt

`apiVersion: sked.schedkit.io/v1`, `kind: SchedExt`, namespaced, with a status subresource. Short name `sx`, category `schedkit`. Only `spec.sched` is required:

```yaml
apiVersion: sked.schedkit.io/v1
kind: SchedExt
metadata:
  name: rusty
spec:
  sched: ghcr.io/schedkit/scx_rusty:1.1.4
```

In paths, `[]` stands for the items of a list and `{}` for the values of a map. Server-side apply merges a list of named items by name, and each name may occur once; every other list belongs to one writer as a whole.
";

const OBJECTS: &str = "
## What a SchedExt creates

| object | name | contents |
|---|---|---|
| DaemonSet in the SchedExt's namespace | the SchedExt's name | runs `spec.sched` on the selected nodes that are in no pool |
| one DaemonSet for each pool | `<schedext>-<pool>` | runs the pool's settings on the pool's nodes |

- The SchedExt is the controller of its DaemonSets (owner reference): with the SchedExt the garbage collector deletes them and their pods.
- Each DaemonSet has the label `@MANAGED_BY@` and selects its pods by `@NAME@: <DaemonSet's name>`.
- Each pod has exactly one container, `@CONTAINER@`, which is privileged, in the host's PID namespace and network, with `/boot` (read-only), `/var/run/scx` and `/sys/kernel` of the node (tracefs and debugfs are in there). It has no service account token.
- It claims the UDP port 16180 of the host and does not bind it: kube-scheduler and kubelet put no second pod with that port on a node. A pod of somebody else that has it is named in `problems`.
- Without `spec.resources` it requests 10m of CPU and 128Mi of memory, so that it is not the first to be evicted. For more set `spec.priorityClassName`: with `system-node-critical` the kernel kills it last.
- Pods have the labels `@NAME@`, `@MANAGED_BY@` and `@ROOT_SCHEDULER@`, and the readiness gate `@GATE@`: a pod is ready when its node's kernel runs the scheduler.
- sked resets every change of the DaemonSets' specs, except annotations of `kubectl rollout restart`.

On Nodes sked writes the label `@OWNER@`, and only where it is needed:

| value | meaning |
|---|---|
| 16 hexadecimal digits | the owner: a hash of the SchedExt's uid and the pool. Written where more than one DaemonSet would run |
| `unsupported` | the kernel has no sched_ext; no scheduler of sked's runs there |
| `foreign` | the kernel runs a scheduler that sked did not start; no scheduler of sked's runs there |
| `quarantined` | reserved for nodes that are excluded after failures. This version of sked does not set it; if somebody sets it by hand, no scheduler of sked's runs there until the label is removed |

sked also writes the status of the SchedExt, Events about it, and the condition of the readiness gate in the status of its pods. It creates nothing else for a SchedExt.
";

const CONDITIONS_HEAD: &str = "
## Conditions and reasons

A status has the first four of these conditions, with a trust policy all of them, each with `observedGeneration`; that of a SchedExt whose spec cannot be parsed has only `Ready` and `Degraded`:

| type | true means |
|---|---|
";

const REASONS_HEAD: &str = "
Reasons, the most important first: of several that apply, a condition has the first. Those up to `PolicyNotEnforced` make `Degraded` true. `status.problems[].reason` has the same values; for a scheduler that ended it has the [kind of exit](concepts.md#why-a-scheduler-ended) instead.

| reason | meaning |
|---|---|
";

const RULES_HEAD: &str = "
## Validation rules

The API server checks a SchedExt when it is written, and its message says what is wrong and what is valid. In addition to the types and limits above these rules apply (Common Expression Language, evaluated by the API server without a webhook):
";

const NODE_HEAD: &str = "
## SchedExtNode

`apiVersion: sked.schedkit.io/v1`, `kind: SchedExtNode`, cluster-scoped, with a status subresource. Short name `sxn`, category `schedkit`.

The agent of a node (`sked-node-agent`) writes one SchedExtNode: it has the node's name, is owned by the Node and is deleted with it. It reports what the kernel has attached. Do not edit it: an admission policy lets each agent write only its own node's report, and the agent overwrites every change. It is written only when something changes, so an old report is not outdated; it is trusted while the agent's pod is ready, the boot id is the Node's and the owner is the Node.
";

pub(super) fn derive(
    schedext: &CustomResourceDefinition,
    schedextnode: &CustomResourceDefinition,
) -> anyhow::Result<Derived> {
    let text = [
        HEAD.to_owned(),
        section("spec", schedext, "spec")?,
        section("status", schedext, "status")?,
        columns(schedext, "sx")?,
        objects(),
        conditions()?,
        rules()?,
        NODE_HEAD.to_owned(),
        section("SchedExtNode status", schedextnode, "status")?,
        columns(schedextnode, "sxn")?,
    ];
    Ok(Derived {
        path: "docs/crd.md".to_owned(),
        text: text.concat(),
    })
}

fn version(
    definition: &CustomResourceDefinition,
) -> anyhow::Result<&CustomResourceDefinitionVersion> {
    definition.spec.versions.first().context("no version")
}

/// The top-level field `name` of a resource, with the objects in it. `title` is the section's heading.
fn section(
    title: &str,
    definition: &CustomResourceDefinition,
    name: &str,
) -> anyhow::Result<String> {
    let schema = version(definition)?.schema.as_ref();
    let schema = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
    let fields = schema.and_then(|schema| schema.properties.as_ref());
    let schema = fields.and_then(|fields| fields.get(name));
    let mut text = String::new();
    for (path, object) in field::objects(name, schema.context("no schema")?) {
        match path == name {
            true => writeln!(text, "\n### {title}\n")?,
            false => writeln!(text, "\n#### {path}\n")?,
        }
        table(&mut text, object)?;
    }
    Ok(text)
}

fn table(text: &mut String, object: &JSONSchemaProps) -> std::fmt::Result {
    if let Some(description) = &object.description {
        writeln!(text, "{description}\n")?;
    }
    *text += "| field | type | default | limits | meaning |\n|---|---|---|---|---|\n";
    for (name, part, required) in field::parts(object) {
        writeln!(
            text,
            "| `{name}`{} | {} | {} | {} | {} |",
            if required { " (required)" } else { "" },
            field::kind(part),
            field::default(part),
            field::limits(part),
            part.description.as_deref().unwrap_or_default(),
        )?;
    }
    Ok(())
}

fn columns(definition: &CustomResourceDefinition, short_name: &str) -> anyhow::Result<String> {
    let mut text = format!("\n### kubectl get {short_name}\n\n| column | from |\n|---|---|\n");
    let columns = version(definition)?.additional_printer_columns.iter();
    for column in columns.flatten() {
        let wide = match column.priority {
            None | Some(0) => "",
            Some(_) => " (with `-o wide`)",
        };
        let name = column.name.to_uppercase();
        writeln!(text, "| {name}{wide} | `{}` |", column.json_path)?;
    }
    Ok(text)
}

fn objects() -> String {
    let pair = |(key, value): (&str, &str)| format!("{key}: {value}");
    OBJECTS
        .replace("@MANAGED_BY@", &pair(label::MANAGED_BY))
        .replace("@ROOT_SCHEDULER@", &pair(label::ROOT_SCHEDULER))
        .replace("@NAME@", label::NAME)
        .replace("@CONTAINER@", label::CONTAINER)
        .replace("@GATE@", label::ATTACHED_GATE)
        .replace("@OWNER@", label::OWNER)
}

fn conditions() -> anyhow::Result<String> {
    let mut text = CONDITIONS_HEAD.to_owned();
    for one in ConditionType::ALL {
        writeln!(text, "| `{}` | {} |", one.as_str(), one.meaning())?;
    }
    text += REASONS_HEAD;
    for one in Reason::ALL {
        writeln!(text, "| `{}` | {} |", one.as_str(), one.meaning())?;
    }
    Ok(text)
}

fn rules() -> anyhow::Result<String> {
    let mut text = RULES_HEAD.to_owned();
    for rule in RULES {
        let paths: Vec<_> = rule.at.iter().map(|path| format!("`{path}`")).collect();
        let paths = match paths.concat().as_str() {
            "``" => "the whole object".to_owned(),
            _ => paths.join(", "),
        };
        writeln!(
            text,
            "\n**{}** – {paths}\n: {}\n\n```cel\n{}\n```",
            sentence_case(rule.name),
            rule.message,
            rule.rule
        )?;
    }
    Ok(text)
}

fn sentence_case(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}
