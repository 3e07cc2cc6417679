//! `kubectl sx release NODE`: the request goes to the SchedExt that has the node in quarantine.

use std::time::Duration;

use sked_api::{Request, SchedExt};
use sked_plan::ObjectKey;
use sked_plan::part::key;

use super::ask::ask_of;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Printer;
use crate::schedexts::SchedExts;

pub(super) async fn release(
    cluster: &Cluster,
    node: &str,
    schedext: Option<&str>,
    wait: Option<Duration>,
    printer: &Printer,
) -> Result<Exit, Error> {
    let schedexts = SchedExts::new(cluster);
    let key = match schedext {
        Some(name) => schedexts.key(name),
        None => {
            // A node belongs to no namespace.
            let all = match schedexts.list(None).await {
                Err(Error::Forbidden { .. }) => schedexts.list(Some(&cluster.namespace)).await?,
                all => all?,
            };
            the_one(&all, node)?
        }
    };
    let stored = schedexts.get(&key).await?;
    let release = Request::Release(node.to_owned());
    ask_of(cluster, &stored, &release, wait, printer).await
}

/// The SchedExt that has the node in quarantine.
fn the_one(all: &[SchedExt], node: &str) -> Result<ObjectKey, Error> {
    let nodes = |one: &SchedExt| -> Vec<String> {
        let status = one.status.iter();
        let quarantined = status.flat_map(|status| &status.quarantined);
        quarantined.map(|one| one.node.clone()).collect()
    };
    let has_it = all
        .iter()
        .filter(|one| nodes(one).iter().any(|name| name == node));
    let keys: Vec<_> = has_it.map(key).collect();
    match &keys[..] {
        [one] => Ok(one.clone()),
        [] => {
            let mut known: Vec<_> = all.iter().flat_map(nodes).collect();
            known.sort();
            Err(Error::NotQuarantined {
                node: node.to_owned(),
                known: match known.is_empty() {
                    true => "no node is".to_owned(),
                    false => format!("these are: {}", known.join(", ")),
                },
            })
        }
        several => {
            let names: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(Error::SeveralQuarantines {
                node: node.to_owned(),
                names: names.join(", "),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schedext(name: &str, quarantined: &[&str]) -> SchedExt {
        let quarantined = quarantined.iter().map(|node| {
            json!({"node": node, "revision": "r", "reason": "Stall", "message": "m", "since": "2026-01-01T00:00:00Z"})
        });
        let object = json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
            "metadata": {"namespace": "default", "name": name}, "spec": {"sched": "x"},
            "status": {"quarantined": quarantined.collect::<Vec<_>>()},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn the_quarantine_of_a_node_is_found() {
        let all = [schedext("a", &["n1", "n2"]), schedext("b", &["n2"])];
        assert_eq!(the_one(&all, "n1").unwrap().name, "a");
        let error = |node| the_one(&all, node).unwrap_err().to_string();
        assert!(
            error("n2").contains("(default/a, default/b)"),
            "{}",
            error("n2")
        );
        assert!(
            error("n3").contains("these are: n1, n2, n2"),
            "{}",
            error("n3")
        );
    }
}
