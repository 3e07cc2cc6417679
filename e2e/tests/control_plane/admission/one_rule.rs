//! Each rule by itself: its cases are rejected with its message and no other, and accepted by an API
//! server without rules.

use std::collections::BTreeSet;

use sked_api::crd;
use sked_api::crd::rule::{RULES, Rule};

use super::cases::cases;
use super::schedext::with;
use super::server::server;

#[test]
fn every_rule_has_cases() {
    let tried: BTreeSet<_> = cases().into_iter().map(|(rule, _)| rule).collect();
    let all: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(tried, all);
}

#[test]
fn a_case_is_rejected_by_its_rule_alone() {
    let server = server();
    let mut wrong = Vec::new();
    for (name, values) in cases() {
        let Rule { at, message, .. } = rule(name);
        for (path, value) in at
            .iter()
            .flat_map(|path| values.iter().map(move |value| (path, value)))
        {
            match server.offer(&with(path, value)) {
                Err(rejection)
                    if rejection.code == 422
                        && rejection.causes.len() == 1
                        && rejection.causes[0].1.ends_with(message) => {}
                other => wrong.push(format!("{name}: {path} {value}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules are evaluated independently, so what one rule alone rejects is accepted without this rule.
#[test]
fn without_rules_every_case_is_accepted() {
    let mut server = server();
    server.define(crd::with_rules(|_, _| false).unwrap());
    let mut wrong = Vec::new();
    for (name, values) in cases() {
        for path in rule(name).at {
            for value in &values {
                if let Err(rejection) = server.offer(&with(path, value)) {
                    wrong.push(format!("{name}: {path} {value}: {rejection:?}"));
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
