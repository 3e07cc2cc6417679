//! Lists the fields in which two DaemonSets differ, for log lines.

use serde_json::Value;

use super::canonical::Canonical;

/// A log line needs no more than these.
const MAX_PATHS: usize = 5;

/// The first few paths of fields that sked controls and that differ, such as
/// `spec.template.spec.hostNetwork`.
pub fn differences(live: &Value, desired: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(
        Some(&Canonical::of(live)),
        Some(&Canonical::of(desired)),
        "",
        &mut found,
    );
    found
}

fn get<'a, 'b>(map: &'a [(&str, Canonical<'b>)], key: &str) -> Option<&'a Canonical<'b>> {
    map.iter()
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value)
}

fn compare(
    live: Option<&Canonical<'_>>,
    desired: Option<&Canonical<'_>>,
    path: &str,
    found: &mut Vec<String>,
) {
    if live == desired || found.len() == MAX_PATHS {
        return;
    }
    match (live, desired) {
        (Some(Canonical::Map(live)), Some(Canonical::Map(desired))) => {
            let only_live = live.iter().filter(|(key, _)| get(desired, key).is_none());
            for (key, _) in desired.iter().chain(only_live) {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{key}");
                compare(get(live, key), get(desired, key), &path, found);
            }
        }
        (Some(Canonical::List(live)), Some(Canonical::List(desired))) => {
            for at in 0..live.len().max(desired.len()) {
                compare(
                    live.get(at),
                    desired.get(at),
                    &format!("{path}[{at}]"),
                    found,
                );
            }
        }
        _ => found.push(path.to_owned()),
    }
}
