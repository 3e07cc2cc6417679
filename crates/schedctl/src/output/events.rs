//! An attach or detach, as `schedctl events` prints it.

use jiff::Timestamp;
use serde::Serialize;

use super::document::{Document, GOOD, WARNING, json_name};
use crate::transition::{Transition, TransitionKind};

#[derive(Serialize)]
pub(crate) struct Event {
    /// When it was read.
    time: Timestamp,
    event: TransitionKind,
    ops: Option<String>,
    enable_seq: Option<u64>,
    /// It was attached before the command started.
    initial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The state when the command started.
    Initial,
    Observed,
}

impl Event {
    pub(crate) fn new(transition: &Transition, origin: Origin, time: Timestamp) -> Self {
        Self {
            time,
            event: transition.kind,
            ops: transition.ops.as_ref().map(ToString::to_string),
            enable_seq: transition.enable_seq,
            initial: origin == Origin::Initial,
        }
    }
}

impl Document for Event {
    fn text(&self) -> String {
        let style = match self.event {
            TransitionKind::Attached => GOOD,
            TransitionKind::Detached => WARNING,
        };
        let (time, event) = (format!("{:.3}", self.time), json_name(self.event));
        let ops = self.ops.as_deref();
        let ops = ops.unwrap_or("(unknown: detached before it was read)");
        let seq = self.enable_seq;
        let seq = seq
            .map(|seq| format!("  enable_seq {seq}"))
            .unwrap_or_default();
        let already = match self.initial {
            true => "  already attached",
            false => "",
        };
        format!("{time}  {style}{event}{style:#}  {ops}{seq}{already}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{checked_json, plain_text};
    use super::*;

    #[test]
    fn a_line_has_time_event_and_name() {
        let time: Timestamp = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        let mut one = Transition {
            kind: TransitionKind::Attached,
            ops: Some("lab_1.0".parse().unwrap()),
            enable_seq: Some(4),
        };
        assert_eq!(
            plain_text(&Event::new(&one, Origin::Initial, time)),
            "2026-01-02T03:04:05.678Z  attached  lab_1.0  enable_seq 4  already attached\n"
        );
        let json = checked_json("events", &Event::new(&one, Origin::Observed, time));
        assert_eq!(
            (&json["event"], &json["initial"]),
            (&"attached".into(), &false.into())
        );
        one.kind = TransitionKind::Detached;
        one.ops = None;
        assert_eq!(
            plain_text(&Event::new(&one, Origin::Observed, time)),
            "2026-01-02T03:04:05.678Z  detached  (unknown: detached before it was read)  enable_seq 4\n"
        );
    }
}
