//! Where two DaemonSets differ, for a log line or an event.

use serde_json::Value;

use super::canonical::Canonical;

/// More than these help nobody.
const ENOUGH: usize = 5;

/// Where two DaemonSets differ in what is ours to say: the first few paths, such as
/// `spec.template.spec.hostNetwork`.
pub fn differences(live: &Value, wanted: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(
        Some(&Canonical::of(live)),
        Some(&Canonical::of(wanted)),
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
    wanted: Option<&Canonical<'_>>,
    path: &str,
    found: &mut Vec<String>,
) {
    if live == wanted || found.len() == ENOUGH {
        return;
    }
    match (live, wanted) {
        (Some(Canonical::Map(live)), Some(Canonical::Map(wanted))) => {
            let only_live = live.iter().filter(|(key, _)| get(wanted, key).is_none());
            for (key, _) in wanted.iter().chain(only_live) {
                let dot = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{dot}{key}");
                compare(get(live, key), get(wanted, key), &path, found);
            }
        }
        (Some(Canonical::List(live)), Some(Canonical::List(wanted))) => {
            for at in 0..live.len().max(wanted.len()) {
                compare(
                    live.get(at),
                    wanted.get(at),
                    &format!("{path}[{at}]"),
                    found,
                );
            }
        }
        _ => found.push(path.to_owned()),
    }
}
