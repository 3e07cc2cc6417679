//! The alerts as Prometheus itself reads them, without the PrometheusRule object around them.

const OBJECT: &str = include_str!("../../config/prometheus/rules.yaml");

/// The groups under `spec`.
pub fn groups() -> String {
    let (_, spec) = OBJECT.split_once("\nspec:\n").unwrap();
    let lines = spec.lines().map(|line| line.strip_prefix("  ").unwrap());
    lines.map(|line| format!("{line}\n")).collect()
}
