//! `kubectl sx plan`.

use jiff::Timestamp;

use super::Document;
use super::style::{BOLD, styled};
use crate::view::plan::{Change, PlanView, PlannedSchedExt, WriteView};

impl Document for PlanView {
    fn text(&self, _: Timestamp) -> String {
        let mut text = String::new();
        for one in &self.schedexts {
            text.push_str(&schedext(one));
        }
        text.push_str(&section("sked writes", self.writes.iter().map(write)));
        let changes = self.nodes.iter().map(|one| {
            let name =
                |owner: &Option<String>| owner.clone().unwrap_or_else(|| "nobody".to_owned());
            format!("{}: {} -> {}", one.node, name(&one.from), name(&one.to))
        });
        text.push_str(&section("nodes get another owner", changes));
        for one in &self.schedexts {
            let then = one
                .then
                .iter()
                .map(|then| format!("{}: {then}", one.schedext));
            text.push_str(&section("then", then));
        }
        text.push_str("nothing was written\n");
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

fn schedext(one: &PlannedSchedExt) -> String {
    let change = match one.change {
        Change::New => "is new",
        Change::Changed => "is changed",
        Change::Unchanged => "is what the cluster has",
    };
    let revision = one.revision.as_ref();
    let revision = revision.map(|revision| format!(", revision {revision}"));
    let phase = one.phase.as_ref().map(|phase| format!(", phase {phase}"));
    let name = styled(BOLD, &one.schedext);
    let parts = one.parts.iter();
    let parts: Vec<_> = parts
        .map(|part| format!("{} on {} nodes", part.part, part.nodes))
        .collect();
    let mut text = format!(
        "{name} {change}{}{}: {}\n",
        revision.unwrap_or_default(),
        phase.unwrap_or_default(),
        match parts.is_empty() {
            true => "no node".to_owned(),
            false => parts.join(", "),
        }
    );
    let conflicts = one.conflicts.iter();
    let conflicts = conflicts.map(|one| format!("{}: {}", one.node, one.why));
    text.push_str(&section(
        "nodes that it selects and does not get",
        conflicts,
    ));
    text
}

fn section(heading: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<_> = lines.map(|line| format!("  {line}\n")).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("{heading}:\n{}", lines.concat()),
    }
}

fn write(write: &WriteView) -> String {
    let image = |image: &Option<String>| image.clone().unwrap_or_default();
    match write {
        WriteView::Label { node, to: None, .. } => {
            format!("remove the owner label of node {node}")
        }
        WriteView::Label { node, owner, .. } => {
            let owner = owner.as_deref().unwrap_or_default();
            format!("label node {node} as owned by {owner}")
        }
        WriteView::Create {
            daemonset,
            image: of,
        } => format!("create DaemonSet {daemonset} ({})", image(of)),
        WriteView::Replace {
            daemonset,
            image: of,
            differs,
        } => {
            let differs = match differs.is_empty() {
                true => String::new(),
                false => format!("; it differs in {}", differs.join(", ")),
            };
            format!("replace DaemonSet {daemonset} ({}){differs}", image(of))
        }
        WriteView::Delete { daemonset } => format!("delete DaemonSet {daemonset}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;
    use crate::view::plan::{Conflict, OwnerChange, PartCount};

    #[test]
    fn a_plan_lists_writes_and_what_follows() {
        let view = PlanView {
            schedexts: vec![PlannedSchedExt {
                schedext: "default/a".to_owned(),
                change: Change::Changed,
                revision: Some("0a1b".to_owned()),
                phase: Some("Canary".to_owned()),
                parts: vec![PartCount {
                    part: "base".to_owned(),
                    nodes: 3,
                }],
                conflicts: vec![Conflict {
                    node: "node9".to_owned(),
                    why: "default/b keeps it".to_owned(),
                }],
                then: vec!["the canary's nodes follow last".to_owned()],
            }],
            writes: vec![
                WriteView::Label {
                    node: "node1".to_owned(),
                    from: None,
                    to: Some("0123456789abcdef".to_owned()),
                    owner: Some("default/a, canary of the base".to_owned()),
                },
                WriteView::Replace {
                    daemonset: "default/a".to_owned(),
                    image: Some("x:2".to_owned()),
                    differs: vec!["spec.template".to_owned()],
                },
            ],
            nodes: vec![OwnerChange {
                node: "node1".to_owned(),
                from: None,
                to: Some("default/a, base".to_owned()),
            }],
            notes: Vec::new(),
        };
        assert_eq!(
            plain(&view, "2026-11-19T10:00:00Z"),
            "default/a is changed, revision 0a1b, phase Canary: base on 3 nodes\n\
             nodes that it selects and does not get:\n  node9: default/b keeps it\n\
             sked writes:\n  label node node1 as owned by default/a, canary of the base\n  \
             replace DaemonSet default/a (x:2); it differs in spec.template\n\
             nodes get another owner:\n  node1: nobody -> default/a, base\n\
             then:\n  default/a: the canary's nodes follow last\n\
             nothing was written\n"
        );
    }
}
