//! `kubectl sx nodes`.

use jiff::Timestamp;

use super::Document;
use super::age::age;
use super::table::{cell, columns};
use crate::view::nodes::NodesView;

impl Document for NodesView {
    fn text(&self, now: Timestamp) -> String {
        let rows = self.nodes.iter().map(|row| {
            [
                row.node.clone(),
                cell(row.owner.as_deref()),
                cell(row.part.as_deref()),
                cell(row.label.as_deref()),
                cell(row.scheduler.as_deref()),
                row.state.clone(),
                row.since
                    .map_or_else(|| cell(None), |since| age(since, now)),
            ]
        });
        let heading = [
            "NODE",
            "OWNER",
            "PART",
            "LABEL",
            "KERNEL RUNS",
            "STATE",
            "SINCE",
        ];
        let mut text = columns(heading, rows);
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;
    use crate::view::nodes::NodeRow;

    #[test]
    fn a_node_is_a_line() {
        let row = |node: &str, owner: Option<&str>, state: &str| NodeRow {
            node: node.to_owned(),
            owner: owner.map(str::to_owned),
            part: owner.map(|_| "base".to_owned()),
            label: owner.map(|_| "0123456789abcdef".to_owned()),
            scheduler: owner.map(|_| "rusty_1.1.4".to_owned()),
            state: state.to_owned(),
            since: owner.map(|_| "2026-11-19T09:00:00Z".parse().unwrap()),
        };
        let view = NodesView {
            nodes: vec![
                row("node1", Some("default/rusty"), "Attached"),
                row("node2", None, "Unclaimed"),
            ],
            notes: Vec::new(),
        };
        assert_eq!(
            plain(&view, "2026-11-19T10:00:00Z"),
            "NODE    OWNER           PART   LABEL              KERNEL RUNS   STATE       SINCE\n\
             node1   default/rusty   base   0123456789abcdef   rusty_1.1.4   Attached    60m\n\
             node2   -               -      -                  -             Unclaimed   -\n"
        );
    }
}
