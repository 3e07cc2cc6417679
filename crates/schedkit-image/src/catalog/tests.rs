//! Tests of the catalog: its text, and what a text on the command line stands for.

use proptest::prelude::*;

use super::*;

const LAVD: &str = r#"{"scx_lavd": {"imageURI": "ghcr.io/schedkit/scx_lavd"}}"#;

fn why(text: &str) -> String {
    Catalog::parse(text).unwrap_err().to_string()
}

#[test]
fn the_snapshot_has_the_names_that_people_know() {
    let catalog = Catalog::snapshot().unwrap();
    let names: Vec<&str> = catalog.entries().map(|(name, _)| name.as_str()).collect();
    let known = "gthulhu scx_beerland scx_bpfland scx_cosmos scx_flash scx_flow scx_lavd \
        scx_mitosis scx_p2dq scx_pandemonium scx_rustland scx_rusty scx_test scx_tickless";
    assert_eq!(names.join(" "), known);
    for (name, image) in catalog.entries() {
        assert_eq!(image.to_string(), format!("ghcr.io/schedkit/{name}:latest"));
    }
}

#[test]
fn errors_have_a_position() {
    for (text, expected) in [
        ("", "line 1, column 0: EOF while parsing a value"),
        (
            "[]",
            "line 1, column 0: invalid type: sequence, expected an object",
        ),
        (
            "{\n  \"a\": {\n",
            "line 3, column 0: EOF while parsing an object",
        ),
        (
            "{\n\"a\": {\"imageURI\": \"a.b/c\"},\n\"a\": {\"imageURI\": \"a.b/c\"}\n}",
            "line 3, column 3: a is listed twice",
        ),
        (
            "{\n\"a\": {\n\"imageURI\": \"a.b/c\",\n\"imageURI\": \"a.b/c\"}\n}",
            "line 4, column 10: imageURI is set twice",
        ),
        (
            "{\"a\": {\n\"imageURI\":\n\"nginx\"\n}}",
            "line 3, column 7: \"nginx\": an image reference begins with its registry's host",
        ),
        (
            "{\"a\": {\"imageURI\": \"a.b/c@sha256:0\"}}",
            "line 1, column 35: \"a.b/c@sha256:0\": the digest after '@' is wrong: a SHA-256",
        ),
        (
            "{\"a\": {\"imageURI\": 7}}",
            "line 1, column 20: invalid type: integer",
        ),
        (
            "{\"a\": \"ghcr.io/a/b\"}",
            "line 1, column 19: invalid type: string",
        ),
        (
            "{\n\"a\": {}\n}",
            "line 2, column 7: an entry without imageURI",
        ),
        (
            "{\n\"a b\": {}\n}",
            "line 2, column 5: \"a b\": a scheduler's name has",
        ),
        ("{}\nx", "line 2, column 1: trailing characters"),
    ] {
        let message = why(text);
        assert!(message.starts_with(expected), "{text}\n{message}");
    }
}

#[test]
fn errors_are_safe_to_print() {
    let message = why("{\"\\u001b[2J\": {}}");
    assert!(!message.contains('\u{1b}'), "{message:?}");
}

#[test]
fn size_and_number_of_entries_are_limited() {
    assert_eq!(
        Catalog::parse(&" ".repeat(parse::MAX_BYTES + 1)),
        Err(CatalogError::TooBig)
    );
    let many = |count: usize| {
        let entry = |n: usize| format!(r#""s{n}": {{"imageURI": "a.b/c"}}"#);
        format!(
            "{{{}}}",
            (0..count).map(entry).collect::<Vec<_>>().join(",\n")
        )
    };
    assert!(Catalog::parse(&many(4096)).is_ok());
    assert!(why(&many(4097)).starts_with("line 4097"));
}

#[test]
fn unknown_fields_are_ignored() {
    let later = LAVD.replace("}}", r#", "tags": [{"imageURI": 1}], "since": null}}"#);
    assert_eq!(Catalog::parse(&later), Catalog::parse(LAVD));
}

#[test]
fn a_text_is_a_name_or_a_reference() {
    let catalog = Catalog::parse(LAVD).unwrap();
    let named = catalog.resolve("scx_lavd").unwrap();
    assert_eq!(
        named.image().to_string(),
        "ghcr.io/schedkit/scx_lavd:latest"
    );
    assert_eq!(named.scheduler(), "scx_lavd");
    let other = catalog
        .resolve("ghcr.io/schedkit/scheds/scx_rusty:1.0")
        .unwrap();
    assert!(matches!(other, Resolution::Reference(_)));
    assert_eq!(other.scheduler(), "scx_rusty");
    let error = catalog.resolve("library/nginx").unwrap_err();
    assert!(matches!(error, ResolveError::Reference { .. }), "{error}");
}

#[test]
fn typing_errors_get_suggestions() {
    let catalog = Catalog::snapshot().unwrap();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (text, expected) in [
        ("scx_lavdd", "; did you mean scx_lavd?"),
        ("lavd", "; did you mean scx_lavd?"),
        ("SCX_LAVD", "; did you mean scx_lavd?"),
        ("scx_rust", "; did you mean scx_rusty or scx_rustland?"),
        ("scx_fl", "; did you mean scx_flow or scx_flash?"),
        ("cthulhu", "; did you mean gthulhu?"),
        ("scx_lvad:1.0", "; did you mean scx_lavd?"),
        (
            "scx_lavd:1.0",
            "; did you mean ghcr.io/schedkit/scx_lavd:1.0?",
        ),
        (
            &format!("scx_lavd@{digest}"),
            &format!("; did you mean ghcr.io/schedkit/scx_lavd@{digest}?"),
        ),
        ("nginx", "; `schedctl list` shows the names"),
        (
            &"scx_lavd".repeat(1000),
            "; `schedctl list` shows the names",
        ),
        ("", "; `schedctl list` shows the names"),
    ] {
        let message = catalog.resolve(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert!(message.len() < 400, "{message}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: String, name: String) {
        let _ = Catalog::parse(&text);
        let _ = Catalog::snapshot().unwrap().resolve(&name);
    }

    #[test]
    fn references_resolve_alike_without_a_catalog(text in "[a-z./:@]{1,12}") {
        if let Some(answer) = Resolution::without_catalog(&text) {
            prop_assert_eq!(answer, Catalog::snapshot().unwrap().resolve(&text));
        }
    }
}
