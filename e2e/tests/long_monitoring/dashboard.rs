//! The queries of the dashboard, with its variables filled in as Grafana does it.

use serde_json::Value;

const DASHBOARD: &str = include_str!("../../../config/grafana/sked.json");

/// The values that Grafana fills in; longest names first.
const VARIABLES: [(&str, &str); 5] = [
    ("$__rate_interval", "5m"),
    ("$__range", "15m"),
    ("$namespace", ".*"),
    ("$schedext", ".*"),
    ("$node", ".*"),
];

/// Every query of a panel, and those that look up the values of variables.
pub(crate) fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let lookups = variables.filter_map(|variable| {
        let definition = variable["definition"].as_str()?;
        let within = definition
            .strip_prefix("label_values(")?
            .strip_suffix(')')?;
        let (series, label) = within.rsplit_once(", ")?;
        Some(format!("count by ({label}) ({series})"))
    });
    let queries: Vec<_> = expressions.chain(lookups).map(filled).collect();
    assert!(queries.len() > 30, "{queries:?}");
    queries
}

fn filled(mut query: String) -> String {
    for (name, value) in VARIABLES {
        query = query.replace(name, value);
    }
    assert!(!query.contains('$'), "{query}: a variable has no value");
    query
}
