//! SchedExts of a file: one or several YAML documents, or JSON.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use sked_api::SchedExt;

use crate::error::Error;

/// Standard input for `-`.
pub(crate) fn read(file: &Path) -> Result<String, Error> {
    let text = match file.to_str() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => std::fs::read_to_string(file),
    };
    text.map_err(|source| Error::File {
        file: shown(file),
        source,
    })
}

/// `namespace` is for those that name none.
pub(crate) fn parse(file: &Path, text: &str, namespace: &str) -> Result<Vec<SchedExt>, Error> {
    let file = shown(file);
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|source| Error::Yaml {
            file: file.clone(),
            source: Box::new(source),
        })?;
    let documents = documents.into_iter().filter(|one| !one.is_null());
    let objects = documents.flat_map(objects);
    let mut schedexts = Vec::new();
    for (at, object) in objects.enumerate() {
        let document = at + 1;
        let kind = |name: &str| object[name].as_str().unwrap_or("nothing").to_owned();
        if kind("kind") != "SchedExt" || kind("apiVersion") != "sked.schedkit.io/v1" {
            return Err(Error::OtherKind {
                file,
                document,
                found: format!("{} of {}", kind("kind"), kind("apiVersion")),
            });
        }
        let mut schedext =
            SchedExt::deserialize(object).map_err(|error| Error::InvalidSchedExt {
                file: file.clone(),
                document,
                message: error.to_string(),
            })?;
        let metadata = &mut schedext.metadata;
        metadata
            .namespace
            .get_or_insert_with(|| namespace.to_owned());
        if metadata.name.as_ref().is_none_or(String::is_empty) {
            return Err(Error::InvalidSchedExt {
                file,
                document,
                message: "metadata.name is missing".to_owned(),
            });
        }
        schedexts.push(schedext);
    }
    match schedexts.is_empty() {
        true => Err(Error::NoDocument { file }),
        false => Ok(schedexts),
    }
}

/// Those of a list, as `kubectl get -o json` prints it, or the document itself.
fn objects(document: Value) -> Vec<Value> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let is_list = kind.ends_with("List");
    match document {
        Value::Object(mut fields) if is_list => match fields.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        other => vec![other],
    }
}

fn shown(file: &Path) -> PathBuf {
    match file.to_str() {
        Some("-") => PathBuf::from("standard input"),
        _ => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<String>, String> {
        let parsed = parse(Path::new("f.yaml"), text, "here");
        let schedexts = parsed.map_err(|error| sked::snapshot::chain(&error))?;
        let key = |one: &SchedExt| sked_plan::part::key(one).to_string();
        Ok(schedexts.iter().map(key).collect())
    }

    const ONE: &str =
        "apiVersion: sked.schedkit.io/v1\nkind: SchedExt\nmetadata: {name: a}\nspec: {sched: x}\n";

    #[test]
    fn documents_and_lists_are_read_and_empty_ones_skipped() {
        let other = ONE.replace("{name: a}", "{name: b, namespace: there}");
        let text = format!("---\n{ONE}---\n---\n{other}");
        assert_eq!(parsed(&text).unwrap(), ["here/a", "there/b"]);
        let list = r#"{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"sked.schedkit.io/v1","kind":"SchedExt","metadata":{"name":"c"},"spec":{"sched":"x"}}]}"#;
        assert_eq!(parsed(list).unwrap(), ["here/c"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| parsed(text).unwrap_err();
        assert!(
            error("a: [1\nb: 2\n").contains("line "),
            "{}",
            error("a: [1\nb: 2\n")
        );
        let pod = "apiVersion: v1\nkind: Pod\n";
        assert!(error(pod).contains("document 1 is Pod of v1, not a SchedExt"));
        let second = format!("{ONE}---\n{}", ONE.replace("sched: x", "args: 7"));
        assert!(
            error(&second).contains("document 2 is no valid SchedExt"),
            "{}",
            error(&second)
        );
        assert!(error("").contains("it has no SchedExt"));
        let nameless = ONE.replace("{name: a}", "{}");
        assert!(error(&nameless).contains("metadata.name is missing"));
    }
}
