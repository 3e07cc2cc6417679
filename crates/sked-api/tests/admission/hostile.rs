//! Wrong types, huge values, broken bytes. Whatever is said, the server answers with a refusal in
//! words, or takes exactly what was said, in a shape that the operator can read; and it stays well.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sked_api::SchedExt;

use crate::limits::fields;
use crate::schedext::{at, plain, with};
use crate::server::{Refusal, Server, server};

#[test]
fn every_field_of_every_wrong_kind() {
    let server = server();
    let mut wrong = Vec::new();
    for path in fields().keys() {
        for value in monsters() {
            wrong.extend(half_taken(&server, path, &value));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    still_well(&server);
}

#[test]
fn random_values_in_random_places() {
    let server = server();
    let paths: Vec<_> = fields().into_keys().collect();
    let strategy = (0..paths.len(), any_json());
    let mut runner = TestRunner::deterministic();
    let mut wrong = Vec::new();
    for _ in 0..1000 {
        let (path, value) = strategy.new_tree(&mut runner).unwrap().current();
        wrong.extend(half_taken(&server, &paths[path], &value));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    still_well(&server);
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
        let mut object = with(path, &crate::schedext::around(path));
        if path == "spec" {
            object = plain();
        }
        let place = path.replace("[]", ".0").replace('.', "/");
        object.pointer_mut(&format!("/{place}")).unwrap()[field] = json!({});
        let refusal = server.offer(&object).unwrap_err();
        assert_eq!(refusal.code, 400);
        assert!(refusal.message.contains(field), "{refusal:?}");
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
        let refusal = server.offer_raw(body).expect_err(&start);
        assert!(in_words(&refusal), "{start}: {refusal:?}");
    }
    still_well(&server);
}

/// A complaint when the server neither refuses in words nor takes what was said as it was said.
fn half_taken(server: &Server, path: &str, value: &Value) -> Option<String> {
    let said = with(path, value);
    let complaint = match server.offer(&said) {
        Err(refusal) if in_words(&refusal) => return None,
        Err(refusal) => format!("{refusal:?}"),
        Ok(taken) => match serde_json::from_value::<SchedExt>(taken.clone()) {
            Err(error) => format!("taken, but nobody can read it: {error}"),
            Ok(_) if includes(at(&taken, path), at(&said, path)) => return None,
            Ok(_) => format!("taken as {}", at(&taken, path)),
        },
    };
    let value: String = value.to_string().chars().take(80).collect();
    Some(format!("{path} {value}: {complaint}"))
}

/// Whether all that was said is there; defaults may have been added. Null says nothing.
fn includes(taken: &Value, said: &Value) -> bool {
    match (taken, said) {
        (_, Value::Null) => true,
        (Value::Object(taken), Value::Object(said)) => said.iter().all(|(name, said)| {
            let taken = taken.get(name).unwrap_or(&Value::Null);
            includes(taken, said)
        }),
        (Value::Array(taken), Value::Array(said)) => {
            taken.len() == said.len() && taken.iter().zip(said).all(|(a, b)| includes(a, b))
        }
        (Value::Number(taken), Value::Number(said)) => taken.as_f64() == said.as_f64(),
        (taken, said) => taken == said,
    }
}

fn in_words(refusal: &Refusal) -> bool {
    (400..500).contains(&refusal.code) && refusal.message.len() > 10
}

fn still_well(server: &Server) {
    assert!(server.is_ready());
    server.offer(&plain()).unwrap();
}

fn monsters() -> Vec<Value> {
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
        // Not more: the API server compares its complaints about the items each with each.
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
