//! `kubectl sx explain`.

use jiff::Timestamp;

use super::Document;
use super::style::{BOLD, DIM, styled};
use crate::view::explanation::{ExplanationView, RuleView};

impl Document for ExplanationView {
    fn text(&self, _: Timestamp) -> String {
        let mut text = format!("{}  {}\n", styled(BOLD, &self.node), self.result);
        let width = self.rules.iter().map(|one| one.rule.len()).max();
        for (at, rule) in self.rules.iter().enumerate() {
            text.push_str(&line(at + 1, rule, width.unwrap_or_default()));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }
}

fn line(number: usize, rule: &RuleView, width: usize) -> String {
    let mark = match rule.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let subject = rule.subject.as_ref();
    let subject = subject
        .map(|subject| format!("{subject}: "))
        .unwrap_or_default();
    let name = styled(DIM, &format!("{:width$}", rule.rule));
    format!("{number:3}  {name}  {mark:3}  {subject}{}\n", rule.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn rules_are_numbered_and_say_yes_or_no() {
        let rule = |rule, subject: Option<&str>, holds, text: &str| RuleView {
            rule,
            subject: subject.map(str::to_owned),
            holds,
            text: text.to_owned(),
        };
        let view = ExplanationView {
            node: "node1".to_owned(),
            owner: None,
            scheduler: None,
            result: "no SchedExt selects it; its kernel runs its own scheduler".to_owned(),
            rules: vec![
                rule(
                    "kernel",
                    None,
                    None,
                    "its kernel runs no sched_ext scheduler",
                ),
                rule(
                    "selection",
                    Some("default/a, base"),
                    Some(false),
                    "it lacks the label x=y",
                ),
            ],
            notes: Vec::new(),
        };
        assert_eq!(
            plain(&view, "2026-11-19T10:00:00Z"),
            "node1  no SchedExt selects it; its kernel runs its own scheduler\n  \
             1  kernel          its kernel runs no sched_ext scheduler\n  \
             2  selection  no   default/a, base: it lacks the label x=y\n"
        );
    }
}
