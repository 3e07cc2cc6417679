//! Checks of the definitions that need no API server.

use std::collections::BTreeSet;

use super::field_path::field;
use super::*;

fn fields(mut visit: impl FnMut(&JSONSchemaProps)) {
    for mut crd in [schedext().unwrap(), schedextnode().unwrap()] {
        walk(schema(&mut crd).unwrap(), &mut |field| visit(field));
    }
}

#[test]
fn every_field_has_a_limit() {
    fields(|field| {
        let bounded = match field.type_.as_deref() {
            Some("string") => {
                field.max_length.is_some() || field.enum_.is_some() || field.format.is_some()
            }
            Some("array") => field.max_items.is_some(),
            Some("object") => {
                field.additional_properties.is_none() || field.max_properties.is_some()
            }
            Some("integer") => field.maximum.is_some() || field.format.as_deref() == Some("int64"),
            None => field.x_kubernetes_int_or_string == Some(true) && field.max_length.is_some(),
            Some("boolean") => true,
            Some(_) => false,
        };
        assert!(bounded, "{field:?}");
    });
}

#[test]
fn every_field_has_a_short_description() {
    fields(|field| {
        for (name, part) in field.properties.iter().flatten() {
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                let text = part.description.as_deref().unwrap_or_default();
                assert!((5..300).contains(&text.len()), "{name}: {text:?}");
            }
        }
    });
}

#[test]
fn an_entry_for_a_field_that_does_not_exist_is_an_error() {
    let mut crd = schedext().unwrap();
    for path in [
        "spec.shed",
        "spec.sched[]",
        "spec.args{}",
        "spec.args[",
        "metadata.name",
    ] {
        let error = field(schema(&mut crd).unwrap(), "rules", path).unwrap_err();
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn rules_have_unique_names_and_messages() {
    let names: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    let messages: BTreeSet<_> = RULES
        .iter()
        .flat_map(|rule| rule.at.iter().map(move |path| (path, rule.message)))
        .collect();
    assert_eq!(
        messages.len(),
        RULES.iter().map(|rule| rule.at.len()).sum::<usize>()
    );
}
