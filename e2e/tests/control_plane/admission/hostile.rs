//! Wrong types, huge values, broken bytes. Whatever is sent, the API server rejects it with a
//! message, or accepts exactly what was sent, in a form that the operator can parse; and it stays
//! ready.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sked_api::SchedExt;

use super::limits::fields;
use super::schedext::{at, plain, with};
use super::server::{Rejection, Server, server};

#[test]
fn every_field_with_values_of_wrong_types() {
    let server = server();
    let mut wrong = Vec::new();
    for path in fields().keys() {
        for value in wrong_values() {
            wrong.extend(changed_or_unclear(&server, path, &value));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_ready(&server);
}

#[test]
fn random_values_in_random_fields() {
    let server = server();
    let paths: Vec<_> = fields().into_keys().collect();
    let strategy = (0..paths.len(), any_json());
    let mut runner = TestRunner::deterministic();
    let mut wrong = Vec::new();
    for _ in 0..1000 {
        let (path, value) = strategy.new_tree(&mut runner).unwrap().current();
        wrong.extend(changed_or_unclear(&server, &paths[path], &value));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_ready(&server);
}

#[test]
fn unknown_fields_are_not_dropped_in_silence() {
    let server = server();
    for (path, field) in [
        ("spec", "canary"),
        ("spec.pools[]", "tolerations"),
        ("spec.env[]", "valueFrom"),
        ("spec.affinity", "podAffinity"),
        ("spec.resources", "claims"),
        ("spec.rollout", "maxSurge"),
    ] {
        let mut object = with(path, &super::schedext::around(path));
        if path == "spec" {
            object = plain();
        }
        let pointer = path.replace("[]", ".0").replace('.', "/");
        object.pointer_mut(&format!("/{pointer}")).unwrap()[field] = json!({});
        let rejection = server.offer(&object).unwrap_err();
        assert_eq!(rejection.code, 400);
        assert!(rejection.message.contains(field), "{rejection:?}");
    }
}

#[test]
fn bytes_that_are_no_object() {
    let server = server();
    let plain = plain().to_string();
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let spec = |spec: &str| {
        format!(
            r#"{{"apiVersion":"sked.schedkit.io/v1","kind":"SchedExt","metadata":{{"name":"a"}},"spec":{spec}}}"#
        )
    };
    let bodies = [
        Vec::new(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        plain.as_bytes()[..plain.len() - 1].to_vec(),
        spec("null").into_bytes(),
        spec("[]").into_bytes(),
        spec("{}").into_bytes(),
        spec(r#"{"sched":null}"#).into_bytes(),
        spec(r#"{"sched":"a","sched":"b"}"#).into_bytes(),
        spec(r#"{"sched":"a","priority":1e400}"#).into_bytes(),
        spec(r#"{"sched":"a","priority":0.5}"#).into_bytes(),
        spec(&format!(r#"{{"sched":"a","args":{deep}}}"#)).into_bytes(),
        spec(&format!(r#"{{"sched":"{}"}}"#, "a".repeat(2_000_000))).into_bytes(),
        spec(&format!(r#"{{"sched":"{}"}}"#, "a".repeat(4_000_000))).into_bytes(),
    ];
    for body in bodies {
        let start: String = String::from_utf8_lossy(&body).chars().take(120).collect();
        let rejection = server.offer_raw(body).expect_err(&start);
        assert!(has_message(&rejection), "{start}: {rejection:?}");
    }
    assert_ready(&server);
}

/// An error when the API server neither rejects the value with a message nor accepts it unchanged.
fn changed_or_unclear(server: &Server, path: &str, value: &Value) -> Option<String> {
    let sent = with(path, value);
    let error = match server.offer(&sent) {
        Err(rejection) if has_message(&rejection) => return None,
        Err(rejection) => format!("{rejection:?}"),
        Ok(accepted) => match serde_json::from_value::<SchedExt>(accepted.clone()) {
            Err(error) => format!("accepted, but it cannot be parsed: {error}"),
            Ok(_) if includes(at(&accepted, path), at(&sent, path)) => return None,
            Ok(_) => format!("accepted as {}", at(&accepted, path)),
        },
    };
    let value: String = value.to_string().chars().take(80).collect();
    Some(format!("{path} {value}: {error}"))
}

/// Whether all that was sent is there; defaults may have been added. Null is the same as nothing.
fn includes(accepted: &Value, sent: &Value) -> bool {
    match (accepted, sent) {
        (_, Value::Null) => true,
        (Value::Object(accepted), Value::Object(sent)) => sent.iter().all(|(name, sent)| {
            let accepted = accepted.get(name).unwrap_or(&Value::Null);
            includes(accepted, sent)
        }),
        (Value::Array(accepted), Value::Array(sent)) => {
            accepted.len() == sent.len() && accepted.iter().zip(sent).all(|(a, b)| includes(a, b))
        }
        (Value::Number(accepted), Value::Number(sent)) => accepted.as_f64() == sent.as_f64(),
        (accepted, sent) => accepted == sent,
    }
}

fn has_message(rejection: &Rejection) -> bool {
    (400..500).contains(&rejection.code) && rejection.message.len() > 10
}

fn assert_ready(server: &Server) {
    assert!(server.is_ready());
    server.offer(&plain()).unwrap();
}

fn wrong_values() -> Vec<Value> {
    let nested = (0..200).fold(json!({}), |inner, _| json!({"a": [inner]}));
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0.5),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!(""),
        json!("\u{0}\u{7f}\u{202e}💥"),
        json!("${jndi:ldap://x}; rm -rf / '\"`"),
        json!("a".repeat(100_000)),
        json!([]),
        json!([null]),
        json!([[], {}, 1, "a"]),
        // Not more: the API server compares its errors about the items pairwise.
        json!(vec!["a"; 1_000]),
        json!({}),
        json!({"": null}),
        json!({"__proto__": {"a": 1}}),
        nested,
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-zA-Z0-9:/@._%-]{0,40}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("name"),
        Just("key"),
        Just("operator"),
        Just("values"),
        Just("cpu")
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(name.clone(), inner, 0..6).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}
