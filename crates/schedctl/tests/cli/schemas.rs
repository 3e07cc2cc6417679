//! The schemas themselves: they contain the documented fields and are well-formed.

use serde_json::Value;

/// Documents and fields that existed before the schemas.
const CONTRACT: &[(&str, &str, &str)] = &[
    (
        "status",
        "",
        "schema_version status driver scheduler kernel discrepancy",
    ),
    (
        "status",
        "/$defs/scheduler",
        "name container_id image image_id pid started_at",
    ),
    ("status", "/$defs/kernel", "supported enabled ops"),
    ("doctor", "", "checks summary"),
    (
        "doctor",
        "/properties/checks/items",
        "id description severity status detail remediation",
    ),
    (
        "doctor",
        "/properties/summary",
        "passed failed skipped blocking",
    ),
    (
        "info",
        "",
        "schema_version scheduler source image_ref digest created architecture os title description \
         documentation source_url version revision authors licenses vendor kernel_min_version",
    ),
];

#[test]
fn the_documented_fields_are_required() {
    for (name, place, fields) in CONTRACT {
        let schema = schedctl_schemas::read(name);
        let schema = schema.pointer(place).unwrap();
        let required = schema["required"].as_array().unwrap();
        for field in fields.split_whitespace() {
            assert!(required.contains(&field.into()), "{name}{place}: {field}");
            assert!(schema["properties"][field].is_object(), "{name}: {field}");
        }
    }
    let statuses = &schedctl_schemas::read("status")["properties"]["status"]["enum"];
    let six =
        "idle running orphaned-kernel-state managed-detached managed-mismatch multiple-managed";
    assert_eq!(*statuses, six.split(' ').collect::<Value>());
}

#[test]
fn every_schema_is_well_formed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".json") else {
            continue;
        };
        let schema = schedctl_schemas::read(name);
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(schema["$schema"], draft, "{name}");
        assert!(schema["title"].is_string(), "{name}");
        let fields = schema["properties"].as_object().unwrap();
        assert_eq!(fields["schema_version"]["const"], "1", "{name}");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
#[should_panic(expected = "wait.surprise is not described")]
fn an_undescribed_field_is_found() {
    let document = serde_json::json!({"schema_version": "1", "attached": true, "ops": "lab",
        "enable_seq": 4, "waited_ms": 7, "surprise": 1, "warnings": []});
    schedctl_schemas::check("wait", &document);
}

#[test]
#[should_panic(expected = "wait.waited_ms is missing")]
fn a_missing_field_is_found() {
    let document = serde_json::json!({"schema_version": "1", "attached": true, "ops": "lab",
        "enable_seq": 4, "warnings": []});
    schedctl_schemas::check("wait", &document);
}
