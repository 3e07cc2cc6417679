//! `kubectl sx rollout history`.

use jiff::Timestamp;

use super::Document;
use super::age::age;
use super::table::{cell, columns};
use crate::view::history::HistoryView;

impl Document for HistoryView {
    fn text(&self, now: Timestamp) -> String {
        let rows = self.revisions.iter().map(|row| {
            [
                row.revision.clone(),
                row.role.to_owned(),
                cell(row.image.as_deref()),
                row.since
                    .map_or_else(|| cell(None), |since| age(since, now)),
                cell(row.reason.as_deref()),
            ]
        });
        columns(["REVISION", "ROLE", "IMAGE", "SINCE", "REASON"], rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;
    use crate::view::history::HistoryRow;

    #[test]
    fn a_revision_is_a_line() {
        let row = |role, image: Option<&str>, reason: Option<&str>| HistoryRow {
            role,
            revision: "0a1b2c3d".to_owned(),
            image: image.map(str::to_owned),
            since: Some("2026-11-19T09:50:00Z".parse().unwrap()),
            reason: reason.map(str::to_owned),
        };
        let view = HistoryView {
            schedext: "default/a".to_owned(),
            revisions: vec![
                row("Current", Some("x:2"), Some("Complete")),
                row("PreviousGood", Some("x:1"), None),
            ],
        };
        assert_eq!(
            plain(&view, "2026-11-19T10:00:00Z"),
            "REVISION   ROLE           IMAGE   SINCE   REASON\n\
             0a1b2c3d   Current        x:2     10m     Complete\n\
             0a1b2c3d   PreviousGood   x:1     10m     -\n"
        );
    }
}
