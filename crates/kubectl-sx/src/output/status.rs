//! `kubectl sx status`.

use jiff::Timestamp;

use super::Document;
use super::age::{age, left};
use super::style::{BOLD, DIM, of, styled};
use super::tree::Tree;
use crate::view::status::{
    ConditionView, NodeView, NotUsedView, PartView, RevisionView, SchedExtView, StatusView,
};

/// So many nodes that are well are shown for each revision of a part.
const SHOWN: usize = 20;

impl Document for StatusView {
    fn text(&self, now: Timestamp) -> String {
        let shown = match self.shows_all_nodes {
            true => usize::MAX,
            false => SHOWN,
        };
        let trees = self.schedexts.iter();
        let trees: Vec<_> = trees.map(|one| tree(one, shown, now).draw()).collect();
        let mut text = trees.join("\n");
        if trees.is_empty() {
            text.push_str("no SchedExt: choose another namespace with -n, or all with -A\n");
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

fn tree(one: &SchedExtView, shown: usize, now: Timestamp) -> Tree {
    let name = styled(BOLD, &format!("{}/{}", one.namespace, one.name));
    if let Some(message) = &one.unreadable {
        return Tree {
            label: name,
            branches: vec![Tree::leaf(format!("it cannot be read: {message}"))],
        };
    }
    let phase = match (one.phase, one.since) {
        (Some(phase), Some(since)) => {
            format!("{} for {}", styled(of(phase), phase), age(since, now))
        }
        _ => "not recorded yet".to_owned(),
    };
    let ready = one.conditions.iter().find(|one| one.r#type == "Ready");
    let ready = ready.map(|one| format!("  Ready={} ({})", one.status, one.reason));
    let label = format!(
        "{name}  revision {}  {phase}{}",
        one.revision,
        ready.unwrap_or_default()
    );
    let mut branches = Vec::new();
    if let Some(waits_for) = &one.waits_for {
        let left = one.soaked_at.and_then(|at| left(at, now));
        let left = left.map(|left| format!(", soak left {left}"));
        branches.push(Tree::leaf(format!(
            "waits: {waits_for}{}",
            left.unwrap_or_default()
        )));
    }
    branches.extend(one.conditions.iter().filter_map(degraded));
    branches.extend(one.conditions.iter().filter_map(verified));
    if let Some(rejected) = &one.rejected {
        branches.push(Tree::leaf(format!("rejected: {rejected}")));
    }
    branches.extend(one.parts.iter().map(|part| part_tree(part, shown, now)));
    branches.extend(not_used("not used", &one.not_used, shown));
    branches.extend(not_used("in quarantine", &one.quarantined, usize::MAX));
    Tree { label, branches }
}

fn degraded(condition: &ConditionView) -> Option<Tree> {
    let is_bad = condition.r#type == "Degraded" && condition.status == "True";
    is_bad.then(|| {
        let reason = styled(of("Degraded"), &condition.reason);
        Tree::leaf(format!("degraded: {reason}: {}", condition.message))
    })
}

/// What is refused is shown as degraded.
fn verified(condition: &ConditionView) -> Option<Tree> {
    let is_shown = condition.r#type == "Verified" && condition.status != "False";
    is_shown.then(|| {
        let reason = &condition.reason;
        Tree::leaf(format!("verification: {reason}: {}", condition.message))
    })
}

fn part_tree(part: &PartView, shown: usize, now: Timestamp) -> Tree {
    let image = part.image.as_deref().unwrap_or_default();
    let daemonset = part.daemonset.as_ref();
    let daemonset = daemonset.map(|name| format!("  daemonset/{name}"));
    let label = format!(
        "{}  {image}{}",
        styled(BOLD, &part.part),
        styled(DIM, &daemonset.unwrap_or_default())
    );
    let revisions = part.revisions.iter();
    let mut branches: Vec<_> = revisions.map(|one| revision(one, shown, now)).collect();
    if branches.is_empty() {
        branches.push(Tree::leaf("no node".to_owned()));
    }
    Tree { label, branches }
}

fn revision(one: &RevisionView, shown: usize, now: Timestamp) -> Tree {
    let count = match one.nodes.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let name = match (one.revision.as_str(), one.current) {
        ("", _) => "no revision".to_owned(),
        (revision, true) => format!("revision {revision}"),
        (revision, false) => format!("revision {revision} (to be replaced)"),
    };
    let is_well = |node: &&NodeView| node.state == "Attached" && node.reason.is_none();
    let well = one.nodes.iter().filter(is_well).count();
    let mut room = shown;
    let nodes = one.nodes.iter().filter(|node| {
        let is_shown = !is_well(node) || room > 0;
        if is_well(node) {
            room = room.saturating_sub(1);
        }
        is_shown
    });
    let mut branches: Vec<_> = nodes.map(|node| Tree::leaf(node_line(node, now))).collect();
    if well > shown {
        let more = well - shown;
        branches.push(Tree::leaf(format!(
            "and {more} more that are Attached (--all-nodes)"
        )));
    }
    Tree {
        label: format!("{name}  {count}"),
        branches,
    }
}

fn node_line(node: &NodeView, now: Timestamp) -> String {
    let mut line = format!("{}  {}", node.node, styled(of(node.state), node.state));
    if let Some(scheduler) = &node.scheduler {
        line.push_str(&format!("  {scheduler}"));
    }
    if let Some(since) = node.attached_since {
        line.push_str(&format!("  for {}", age(since, now)));
    }
    if let Some(left) = node.soaked_at.and_then(|at| left(at, now)) {
        line.push_str(&format!(", soak left {left}"));
    }
    match (&node.reason, &node.message) {
        (Some(reason), Some(message)) => line.push_str(&format!("  {reason}: {message}")),
        (None, Some(message)) => line.push_str(&format!("  {message}")),
        _ => {}
    }
    line
}

fn not_used(heading: &str, nodes: &[NotUsedView], shown: usize) -> Option<Tree> {
    if nodes.is_empty() {
        return None;
    }
    let listed = nodes.iter().take(shown);
    let mut branches: Vec<_> = listed
        .map(|one| Tree::leaf(format!("{}  {}", one.node, one.why)))
        .collect();
    if nodes.len() > shown {
        branches.push(Tree::leaf(format!(
            "and {} more (--all-nodes)",
            nodes.len() - shown
        )));
    }
    Some(Tree {
        label: styled(BOLD, heading),
        branches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;

    fn node(name: &str, state: &'static str) -> NodeView {
        NodeView {
            node: name.to_owned(),
            state,
            scheduler: (state == "Attached").then(|| "rusty_1.1.4".to_owned()),
            reason: None,
            message: None,
            attached_since: (state == "Attached").then(|| "2026-11-19T09:58:00Z".parse().unwrap()),
            soaked_at: None,
        }
    }

    fn part(name: &str, revisions: Vec<RevisionView>) -> PartView {
        PartView {
            part: name.to_owned(),
            daemonset: Some("scx-rusty".to_owned()),
            image: Some("registry.example/scx_rusty:2".to_owned()),
            revisions,
        }
    }

    #[test]
    fn a_canary_with_a_failed_node_is_drawn() {
        let soaked = "2026-11-19T10:03:00Z".parse().unwrap();
        let canary = NodeView {
            soaked_at: Some(soaked),
            ..node("node1", "Attached")
        };
        let ejected = NodeView {
            reason: Some("Stall".to_owned()),
            message: Some("the kernel ejected it".to_owned()),
            ..node("node3", "Ejected")
        };
        let revision = |revision: &str, current, nodes| RevisionView {
            revision: revision.to_owned(),
            current,
            nodes,
        };
        let many = (10..32).map(|at| node(&format!("node{at}"), "Attached"));
        let view = StatusView {
            schedexts: vec![SchedExtView {
                namespace: "default".to_owned(),
                name: "scx-rusty".to_owned(),
                revision: "bbbb".to_owned(),
                phase: Some("Canary"),
                since: Some("2026-11-19T09:57:00Z".parse().unwrap()),
                conditions: vec![ConditionView {
                    r#type: "Ready".to_owned(),
                    status: "False".to_owned(),
                    reason: "Canary".to_owned(),
                    message: String::new(),
                }],
                waits_for: Some(
                    "revision bbbb runs on the canary only (node1) (Canary)".to_owned(),
                ),
                soaked_at: Some(soaked),
                parts: vec![
                    part(
                        "base",
                        vec![revision(
                            "aaaa",
                            true,
                            [ejected].into_iter().chain(many).collect(),
                        )],
                    ),
                    part(
                        "canary of the base",
                        vec![revision("bbbb", true, vec![canary])],
                    ),
                ],
                not_used: vec![NotUsedView {
                    node: "node9".to_owned(),
                    why: "default/other owns it".to_owned(),
                }],
                ..SchedExtView::default()
            }],
            notes: vec!["you have no right".to_owned()],
            shows_all_nodes: false,
        };
        let text = plain(&view, "2026-11-19T10:00:00Z");
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("node1") && !line.contains("node2"))
            .collect();
        assert_eq!(
            lines.join("\n"),
            "default/scx-rusty  revision bbbb  Canary for 3m  Ready=False (Canary)\n\
             ├── base  registry.example/scx_rusty:2  daemonset/scx-rusty\n\
             │   └── revision aaaa  23 nodes\n\
             │       ├── node3  Ejected  Stall: the kernel ejected it\n\
             │       └── and 2 more that are Attached (--all-nodes)\n\
             ├── canary of the base  registry.example/scx_rusty:2  daemonset/scx-rusty\n\
             │   └── revision bbbb  1 node\n\
             └── not used\n    └── node9  default/other owns it\n\
             note: you have no right"
        );
        assert!(text.contains(
            "├── waits: revision bbbb runs on the canary only (node1) (Canary), soak left 3m\n"
        ));
        assert!(text.contains("└── node1  Attached  rusty_1.1.4  for 2m, soak left 3m\n"));
        assert!(text.contains("├── node29  Attached") && !text.contains("node30"));
    }
}
