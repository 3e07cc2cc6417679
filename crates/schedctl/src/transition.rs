//! The attaches and detaches between two readings of the kernel's state. Pure; `events` prints them.
//!
//! `enable_seq` rises with every attach. It reveals a scheduler that was attached and detached
//! between two readings, although its name is unknown.

use schedkit_core::OpsName;
use schedkit_host::{Fact, KernelSchedExt};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) kind: TransitionKind,
    /// `None` if it was detached before it was read.
    pub(crate) ops: Option<OpsName>,
    /// Older kernels have none.
    pub(crate) enable_seq: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TransitionKind {
    Attached,
    Detached,
}

/// In order. A state in transition yields nothing until it has been reached.
pub(crate) fn between(
    before: &Fact<KernelSchedExt>,
    now: &Fact<KernelSchedExt>,
) -> Vec<Transition> {
    let (was, is) = (Reading::of(before), Reading::of(now));
    let risen = match (was.enable_seq, is.enable_seq) {
        (Some(was), Some(is)) => is.saturating_sub(was),
        _ => 0,
    };
    let mut all = Vec::new();
    if was.ops == is.ops && risen == 0 {
        return all;
    }
    if let Some(ops) = was.ops {
        all.push(Transition::new(
            TransitionKind::Detached,
            Some(ops),
            was.enable_seq,
        ));
    }
    let missed = match is.ops {
        Some(_) => risen.saturating_sub(1),
        None => risen,
    };
    if missed > 0 {
        // There may have been several; the number is that of the last one.
        let last = is.enable_seq.map(|seq| seq - u64::from(is.ops.is_some()));
        all.push(Transition::new(TransitionKind::Attached, None, last));
        all.push(Transition::new(TransitionKind::Detached, None, last));
    }
    if let Some(ops) = is.ops {
        all.push(Transition::new(
            TransitionKind::Attached,
            Some(ops),
            is.enable_seq,
        ));
    }
    all
}

struct Reading<'a> {
    ops: Option<&'a OpsName>,
    enable_seq: Option<u64>,
}

impl<'a> Reading<'a> {
    fn of(fact: &'a Fact<KernelSchedExt>) -> Self {
        let seen = fact.known();
        Self {
            ops: seen.and_then(KernelSchedExt::attached),
            enable_seq: seen.and_then(|seen| seen.enable_seq.known().copied()),
        }
    }
}

impl Transition {
    fn new(kind: TransitionKind, ops: Option<&OpsName>, enable_seq: Option<u64>) -> Self {
        Self {
            kind,
            ops: ops.cloned(),
            enable_seq,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::kernel;
    use schedkit_host::SchedExtState;

    /// `+lab 4` is an attach of lab with that number; `?` is an unknown name.
    fn summary(before: &Fact<KernelSchedExt>, now: &Fact<KernelSchedExt>) -> String {
        let line = |one: &Transition| {
            let sign = match one.kind {
                TransitionKind::Attached => '+',
                TransitionKind::Detached => '-',
            };
            let ops = one.ops.as_ref().map_or("?", OpsName::as_str);
            let seq = one.enable_seq.map_or("?".to_owned(), |seq| seq.to_string());
            format!("{sign}{ops} {seq}")
        };
        let all = between(before, now);
        all.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn all_transitions_between_two_readings_are_found_in_order() {
        let on = |ops, seq| kernel(SchedExtState::Enabled, Some(ops), Some(seq));
        let off = |seq| kernel(SchedExtState::Disabled, None, Some(seq));
        for (before, now, expected) in [
            (off(3), on("lab", 4), "+lab 4"),
            (on("lab", 4), off(4), "-lab 4"),
            (on("lab", 4), on("lab", 4), ""),
            (on("lab", 4), on("lab", 5), "-lab 4, +lab 5"),
            (on("lab", 4), on("other", 5), "-lab 4, +other 5"),
            (on("lab", 4), on("other", 7), "-lab 4, +? 6, -? 6, +other 7"),
            (off(3), off(4), "+? 4, -? 4"),
            (on("lab", 4), off(5), "-lab 4, +? 5, -? 5"),
            (off(3), off(3), ""),
        ] {
            assert_eq!(summary(&before, &now), expected);
        }
    }

    #[test]
    fn a_state_in_transition_yields_nothing() {
        let off = kernel(SchedExtState::Disabled, None, Some(3));
        let on = kernel(SchedExtState::Enabled, Some("lab"), Some(4));
        let going = kernel(SchedExtState::Disabling, Some("lab"), Some(4));
        let coming = kernel(SchedExtState::Enabling, None, Some(3));
        assert_eq!(summary(&off, &coming), "");
        assert_eq!(summary(&coming, &on), "+lab 4");
        assert_eq!(summary(&on, &going), "-lab 4");
        assert_eq!(
            summary(&going, &kernel(SchedExtState::Disabled, None, Some(4))),
            ""
        );
    }

    #[test]
    fn without_numbers_names_are_compared() {
        let on = kernel(SchedExtState::Enabled, Some("lab"), None);
        let off = kernel(SchedExtState::Disabled, None, None);
        assert_eq!(summary(&off, &on), "+lab ?");
        assert_eq!(summary(&on, &off), "-lab ?");
        assert_eq!(summary(&Fact::Absent, &on), "+lab ?");
    }
}
