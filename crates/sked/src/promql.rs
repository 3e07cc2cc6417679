//! For tests only: which metrics the alerts and the dashboard use. The tests of both files
//! `metrics.rs` compare them with the metrics that exist.
//!
//! It parses as much of PromQL as is needed to find the names of metrics.

use std::collections::BTreeSet;

use serde_json::Value;

const RULES: &str = include_str!("../../../config/prometheus/rules.yaml");
const DASHBOARD: &str = include_str!("../../../config/grafana/sked.json");

/// The prefix of the agents' metrics.
const OF_AGENTS: &str = "sked_node_";
/// Prometheus' own.
const OF_PROMETHEUS: &str = "up";

/// Keywords that are followed by a list of labels.
const GROUPING: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// The metrics of the manager that are used.
pub(crate) fn used_of_manager() -> BTreeSet<String> {
    let all = used().into_iter();
    all.filter(|name| !name.starts_with(OF_AGENTS) && name != OF_PROMETHEUS)
        .collect()
}

/// The metrics of the agent that are used.
pub(crate) fn used_of_agent() -> BTreeSet<String> {
    let all = used().into_iter();
    all.filter(|name| name.starts_with(OF_AGENTS)).collect()
}

/// The metrics that a response to a scrape has values of.
pub(crate) fn exported(text: &str) -> BTreeSet<String> {
    let values = text.lines().filter(|line| !line.starts_with('#'));
    let names = values.filter_map(|line| line.split(['{', ' ']).next());
    names.map(str::to_owned).collect()
}

fn used() -> BTreeSet<String> {
    let expressions = alerts(RULES).into_iter().chain(dashboard(DASHBOARD));
    expressions.flat_map(|one| metrics(&one)).collect()
}

/// The expressions of the rules: what follows `expr:`, with the lines that are further in.
fn alerts(rules: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut within = None;
    for line in rules.lines() {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if let Some(expression) = text.strip_prefix("expr:") {
            found.push(expression.replace(">-", ""));
            within = Some(depth);
        } else if within.is_some_and(|at| depth > at)
            && let Some(last) = found.last_mut()
        {
            last.push_str(text);
        } else {
            within = None;
        }
    }
    found
}

/// The expressions of the panels, and what the variables' values are looked up in.
fn dashboard(json: &str) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(json).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let looked_up = variables.filter_map(|variable| {
        let definition = variable["definition"].as_str()?;
        let (within, _label) = definition.strip_prefix("label_values(")?.rsplit_once(',')?;
        Some(within.to_owned())
    });
    expressions.chain(looked_up).collect()
}

/// The metrics in an expression.
fn metrics(expression: &str) -> BTreeSet<String> {
    let tokens = tokens(expression);
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1).map_or("", String::as_str);
        if GROUPING.contains(&token.as_str()) {
            at += tokens[at..].iter().position(|token| token == ")").unwrap();
        } else if token.starts_with(|c: char| c.is_ascii_alphabetic())
            && next != "("
            && !GROUPING.contains(&next)
            && !OPERATORS.contains(&token.as_str())
        {
            found.insert(token.clone());
        }
        at += 1;
    }
    found
}

/// Names, numbers and signs, without what is in quotes, braces or brackets.
fn tokens(expression: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    let mut until = None;
    for c in expression.chars() {
        match (until, c) {
            (Some(end), _) if c != end => {}
            (Some(_), _) => until = None,
            (None, '"') => until = Some('"'),
            (None, '{') => until = Some('}'),
            (None, '[') => until = Some(']'),
            (None, _) if c.is_ascii_alphanumeric() || c == '_' => {
                tokens.last_mut().unwrap().push(c);
            }
            (None, _) => tokens.extend([c.to_string(), String::new()]),
        }
    }
    tokens.retain(|token| !token.trim().is_empty());
    tokens
}

#[test]
fn names_of_metrics_are_found_in_expressions() {
    for (expression, wanted) in [
        (
            r#"max by (a, b) (one{state="or"}) - two > 0"#,
            &["one", "two"][..],
        ),
        (
            "histogram_quantile(0.9, sum by (le) (rate(one_bucket[5m])))",
            &["one_bucket"],
        ),
        (
            "sum(rate(one[5m])) by (a) or absent(up == 1)",
            &["one", "up"],
        ),
        (
            "one * on (node) group_left (ops) two offset 5m",
            &["one", "two"],
        ),
    ] {
        let found = metrics(expression);
        assert!(found.iter().eq(wanted), "{expression}: {found:?}");
    }
}

#[test]
fn every_expression_is_found() {
    assert_eq!(alerts(RULES).len(), RULES.matches("expr:").count());
    let expressions = dashboard(DASHBOARD);
    assert!(expressions.len() > 30, "{}", expressions.len());
    assert!(
        alerts(RULES)
            .iter()
            .chain(&expressions)
            .all(|one| !metrics(one).is_empty())
    );
}

/// Links to panels and data sources must stay stable.
#[test]
fn the_dashboard_names_no_data_source_and_its_panels_have_numbers() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers.len(), panels.len(), "each has its own");
    let mut sources = Vec::new();
    uids(&dashboard, &mut sources);
    assert!(sources.len() > panels.len() / 2, "{sources:?}");
    assert!(
        sources.iter().all(|uid| uid == "${datasource}"),
        "{sources:?}"
    );
}

fn uids(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(
                fields
                    .get("uid")
                    .map(|uid| uid.as_str().unwrap_or("?").to_owned()),
            );
            fields.values().for_each(|field| uids(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| uids(item, found)),
        _ => {}
    }
}
