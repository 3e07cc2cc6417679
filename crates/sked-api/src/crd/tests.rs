//! What can be said of the definition without an API server.

use std::collections::BTreeSet;

use super::*;

fn fields(mut visit: impl FnMut(&JSONSchemaProps)) {
    for mut crd in [schedext().unwrap(), schedextnode().unwrap()] {
        place::walk(schema(&mut crd).unwrap(), &mut |field| visit(field));
    }
}

#[test]
fn everything_has_a_bound() {
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
fn every_field_has_its_meaning_in_our_words() {
    fields(|field| {
        for (name, part) in field.properties.iter().flatten() {
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                let words = part.description.as_deref().unwrap_or_default();
                assert!((5..300).contains(&words.len()), "{name}: {words:?}");
            }
        }
    });
}

#[test]
fn a_line_about_a_field_that_is_not_there_is_an_error() {
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
fn rules_have_names_and_sentences_of_their_own() {
    let names: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    let said: BTreeSet<_> = RULES
        .iter()
        .flat_map(|rule| rule.at.iter().map(move |path| (path, rule.message)))
        .collect();
    assert_eq!(
        said.len(),
        RULES.iter().map(|rule| rule.at.len()).sum::<usize>()
    );
}
