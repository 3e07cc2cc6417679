//! For tests only: which metrics the alerts and the dashboard ask for. What is measured is checked
//! against it where it is measured, in both files `metrics.rs`.
//!
//! Reads as much of Prometheus' language as is needed to tell a metric from everything else.

use std::collections::BTreeSet;

use serde_json::Value;

const RULES: &str = include_str!("../../../config/prometheus/rules.yaml");
const DASHBOARD: &str = include_str!("../../../config/grafana/sked.json");

/// What the agents measure begins with this.
const OF_AGENTS: &str = "sked_node_";
/// Prometheus' own.
const OF_PROMETHEUS: &str = "up";

/// Words that a list of labels follows.
const GROUPING: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// The metrics that are asked of managers.
pub(crate) fn asked_of_managers() -> BTreeSet<String> {
    let all = asked().into_iter();
    all.filter(|name| !name.starts_with(OF_AGENTS) && name != OF_PROMETHEUS)
        .collect()
}

/// The metrics that are asked of agents.
pub(crate) fn asked_of_agents() -> BTreeSet<String> {
    let all = asked().into_iter();
    all.filter(|name| name.starts_with(OF_AGENTS)).collect()
}

/// The metrics that a text as Prometheus gets it has values of.
pub(crate) fn measured(text: &str) -> BTreeSet<String> {
    let values = text.lines().filter(|line| !line.starts_with('#'));
    let names = values.filter_map(|line| line.split(['{', ' ']).next());
    names.map(str::to_owned).collect()
}

fn asked() -> BTreeSet<String> {
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
    let words = words(expression);
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map_or("", String::as_str);
        if GROUPING.contains(&word.as_str()) {
            at += words[at..].iter().position(|word| word == ")").unwrap();
        } else if word.starts_with(|c: char| c.is_ascii_alphabetic())
            && next != "("
            && !GROUPING.contains(&next)
            && !OPERATORS.contains(&word.as_str())
        {
            found.insert(word.clone());
        }
        at += 1;
    }
    found
}

/// Words, numbers and signs; not what is between quotes, braces or brackets.
fn words(expression: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut until = None;
    for c in expression.chars() {
        match (until, c) {
            (Some(end), _) if c != end => {}
            (Some(_), _) => until = None,
            (None, '"') => until = Some('"'),
            (None, '{') => until = Some('}'),
            (None, '[') => until = Some(']'),
            (None, _) if c.is_ascii_alphanumeric() || c == '_' => {
                words.last_mut().unwrap().push(c);
            }
            (None, _) => words.extend([c.to_string(), String::new()]),
        }
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

#[test]
fn metrics_are_told_from_everything_else() {
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

/// What is linked to, and what alerts point at, stays what it is.
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
