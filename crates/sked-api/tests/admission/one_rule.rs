//! Each rule by itself: its cases are refused with its sentence and no other, and pass when it is
//! taken away.

use std::collections::BTreeSet;

use sked_api::crd;
use sked_api::crd::rule::{RULES, Rule};

use crate::case::cases;
use crate::schedext::with;
use crate::server::server;

#[test]
fn every_rule_has_cases() {
    let tried: BTreeSet<_> = cases().into_iter().map(|(rule, _)| rule).collect();
    let all: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(tried, all);
}

#[test]
fn a_case_is_refused_by_its_rule_alone() {
    let server = server();
    let mut wrong = Vec::new();
    for (name, values) in cases() {
        let Rule { at, message, .. } = rule(name);
        for (path, value) in at
            .iter()
            .flat_map(|path| values.iter().map(move |value| (path, value)))
        {
            match server.offer(&with(path, value)) {
                Err(refusal)
                    if refusal.code == 422
                        && refusal.causes.len() == 1
                        && refusal.causes[0].1.ends_with(message) => {}
                other => wrong.push(format!("{name}: {path} {value}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_its_rule_a_case_passes() {
    let mut server = server();
    let mut wrong = Vec::new();
    for (name, values) in cases() {
        for path in rule(name).at {
            let keep = |rule: &Rule, at: &str| rule.name != name || at != *path;
            server.define(crd::with_rules(keep).unwrap());
            for value in &values {
                if let Err(refusal) = server.offer(&with(path, value)) {
                    wrong.push(format!("{name}: {path} {value}: {refusal:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn rule(name: &str) -> &'static Rule {
    let found = RULES.iter().find(|rule| rule.name == name);
    found.unwrap_or_else(|| panic!("no rule {name:?}"))
}
