//! What the kernel attached and detached, as `schedctl events` prints it: one line each.

use jiff::Timestamp;
use serde::Serialize;

use super::{Document, GOOD, WARNING};
use crate::transition::{Kind, Transition};

#[derive(Serialize)]
pub(crate) struct Happening {
    /// When we saw it.
    time: Timestamp,
    event: &'static str,
    ops: Option<String>,
    enable_seq: Option<u64>,
    /// It was so when we began to look.
    initial: bool,
}

/// Whether something happened before our eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It was so when we began to look.
    Before,
    Now,
}

impl Happening {
    pub(crate) fn of(transition: &Transition, seen: Seen, time: Timestamp) -> Self {
        Self {
            time,
            event: match transition.kind {
                Kind::Attached => "attached",
                Kind::Detached => "detached",
            },
            ops: transition.ops.as_ref().map(ToString::to_string),
            enable_seq: transition.enable_seq,
            initial: seen == Seen::Before,
        }
    }
}

impl Document for Happening {
    fn text(&self) -> String {
        let style = match self.event {
            "attached" => GOOD,
            _ => WARNING,
        };
        let (time, event) = (format!("{:.3}", self.time), self.event);
        let ops = self.ops.as_deref().unwrap_or("(gone before it was seen)");
        let seq = self.enable_seq;
        let seq = seq
            .map(|seq| format!("  enable_seq {seq}"))
            .unwrap_or_default();
        let already = match self.initial {
            true => "  already there",
            false => "",
        };
        format!("{time}  {style}{event}{style:#}  {ops}{seq}{already}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{judged, shown};
    use super::*;

    #[test]
    fn a_line_says_when_what_and_who() {
        let time: Timestamp = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        let mut one = Transition {
            kind: Kind::Attached,
            ops: Some("lab_1.0".parse().unwrap()),
            enable_seq: Some(4),
        };
        assert_eq!(
            shown(&Happening::of(&one, Seen::Before, time)),
            "2026-01-02T03:04:05.678Z  attached  lab_1.0  enable_seq 4  already there\n"
        );
        let json = judged("events", &Happening::of(&one, Seen::Now, time));
        assert_eq!(
            (&json["event"], &json["initial"]),
            (&"attached".into(), &false.into())
        );
        one.kind = Kind::Detached;
        one.ops = None;
        assert_eq!(
            shown(&Happening::of(&one, Seen::Now, time)),
            "2026-01-02T03:04:05.678Z  detached  (gone before it was seen)  enable_seq 4\n"
        );
    }
}
