//! `docs/crd.md`: every field with its type, its limits and its meaning, and every rule with its
//! sentence. From the schema that the API server gets, so that they cannot disagree.

mod field;

use std::fmt::Write as _;

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};
use sked_api::crd::rule::RULES;

use super::Derived;

const HEAD: &str = "<!-- Written by `make manifests` from crates/sked-api: edit that. -->

# SchedExt: every field, every limit, every rule

`apiVersion: sked.schedkit.io/v1`, `kind: SchedExt`, namespaced, with a status subresource. Short name `sx`, category `schedkit`. Only `spec.sched` is required:

```yaml
apiVersion: sked.schedkit.io/v1
kind: SchedExt
metadata:
  name: rusty
spec:
  sched: ghcr.io/schedkit/scx_rusty:1.1.4
```

`[]` stands for the items of a list, `{}` for the values of a map. A list of named items is merged by that name in server-side apply, and a name stands in it once; every other list belongs to one writer as a whole.
";

const RULES_HEAD: &str = "
## What is refused

The API server checks a SchedExt when it is written, and says what is wrong and what is right. Beside the types and limits above these rules hold (Common Expression Language, evaluated by the API server; no webhook):
";

/// The page.
pub(super) fn derive(definition: &CustomResourceDefinition) -> anyhow::Result<Derived> {
    let version = definition.spec.versions.first().context("no version")?;
    let schema = version.schema.as_ref();
    let schema = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
    let parts = schema.and_then(|schema| schema.properties.as_ref());
    let part = |name: &str| parts.and_then(|parts| parts.get(name)).context("no schema");
    let text = [
        HEAD.to_owned(),
        section("spec", part("spec")?)?,
        section("status", part("status")?)?,
        columns(version)?,
        rules()?,
    ];
    Ok(Derived {
        path: "docs/crd.md".to_owned(),
        text: text.concat(),
    })
}

fn section(name: &str, schema: &JSONSchemaProps) -> anyhow::Result<String> {
    let mut text = String::new();
    for (path, object) in field::objects(name, schema) {
        let level = if path == name { "##" } else { "###" };
        writeln!(text, "\n{level} {path}\n")?;
        if let Some(words) = &object.description {
            writeln!(text, "{words}\n")?;
        }
        text += "| field | type | default | limits | meaning |\n|---|---|---|---|---|\n";
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
    }
    Ok(text)
}

fn columns(version: &CustomResourceDefinitionVersion) -> anyhow::Result<String> {
    let mut text = "\n## kubectl get sx\n\n| column | from |\n|---|---|\n".to_owned();
    for column in version.additional_printer_columns.iter().flatten() {
        let wide = match column.priority {
            None | Some(0) => "",
            Some(_) => " (with `-o wide`)",
        };
        let name = column.name.to_uppercase();
        writeln!(text, "| {name}{wide} | `{}` |", column.json_path)?;
    }
    Ok(text)
}

fn rules() -> anyhow::Result<String> {
    let mut text = RULES_HEAD.to_owned();
    for rule in RULES {
        let places: Vec<_> = rule.at.iter().map(|path| format!("`{path}`")).collect();
        let places = match places.concat().as_str() {
            "``" => "the whole object".to_owned(),
            _ => places.join(", "),
        };
        writeln!(
            text,
            "\n**{}** – {places}\n: {}\n\n```cel\n{}\n```",
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
