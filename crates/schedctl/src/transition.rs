//! What happened between two looks at the kernel. Pure; `events` prints it.
//!
//! `enable_seq` rises with every attach, so that a scheduler that came and went between two looks
//! is not lost: its name is, and that is said.

use schedkit_core::OpsName;
use schedkit_host::{Fact, SchedExt};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) kind: Kind,
    /// Nothing when it was gone before we could look.
    pub(crate) ops: Option<OpsName>,
    /// The kernel's count of attaches since it started, where it tells.
    pub(crate) enable_seq: Option<u64>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Attached,
    Detached,
}

/// In the order in which it happened. Nothing while a state is on its way: what it leads to is
/// told when it is there.
pub(crate) fn between(before: &Fact<SchedExt>, now: &Fact<SchedExt>) -> Vec<Transition> {
    let (was, is) = (Look::at(before), Look::at(now));
    let risen = match (was.enable_seq, is.enable_seq) {
        (Some(was), Some(is)) => is.saturating_sub(was),
        _ => 0,
    };
    let mut all = Vec::new();
    if was.ops == is.ops && risen == 0 {
        return all;
    }
    if let Some(ops) = was.ops {
        all.push(Transition::new(Kind::Detached, Some(ops), was.enable_seq));
    }
    let unseen = match is.ops {
        Some(_) => risen.saturating_sub(1),
        None => risen,
    };
    if unseen > 0 {
        // However many there were, they came and went; the last one's number tells how many.
        let last = is.enable_seq.map(|seq| seq - u64::from(is.ops.is_some()));
        all.push(Transition::new(Kind::Attached, None, last));
        all.push(Transition::new(Kind::Detached, None, last));
    }
    if let Some(ops) = is.ops {
        all.push(Transition::new(Kind::Attached, Some(ops), is.enable_seq));
    }
    all
}

struct Look<'a> {
    ops: Option<&'a OpsName>,
    enable_seq: Option<u64>,
}

impl<'a> Look<'a> {
    fn at(fact: &'a Fact<SchedExt>) -> Self {
        let seen = fact.known();
        Self {
            ops: seen.and_then(SchedExt::attached),
            enable_seq: seen.and_then(|seen| seen.enable_seq.known().copied()),
        }
    }
}

impl Transition {
    fn new(kind: Kind, ops: Option<&OpsName>, enable_seq: Option<u64>) -> Self {
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
    use crate::status::kernel;
    use schedkit_host::SchedExtState;

    /// `+lab 4` is an attach of lab with that number, `-` one of a scheduler that nobody saw.
    fn told(before: &Fact<SchedExt>, now: &Fact<SchedExt>) -> String {
        let word = |one: &Transition| {
            let sign = match one.kind {
                Kind::Attached => '+',
                Kind::Detached => '-',
            };
            let ops = one.ops.as_ref().map_or("?", OpsName::as_str);
            let seq = one.enable_seq.map_or("?".to_owned(), |seq| seq.to_string());
            format!("{sign}{ops} {seq}")
        };
        let all = between(before, now);
        all.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn whatever_lies_between_two_looks_is_told_in_order() {
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
            assert_eq!(told(&before, &now), expected);
        }
    }

    #[test]
    fn a_state_on_its_way_is_not_told_and_then_it_is() {
        let off = kernel(SchedExtState::Disabled, None, Some(3));
        let on = kernel(SchedExtState::Enabled, Some("lab"), Some(4));
        let going = kernel(SchedExtState::Disabling, Some("lab"), Some(4));
        let coming = kernel(SchedExtState::Enabling, None, Some(3));
        assert_eq!(told(&off, &coming), "");
        assert_eq!(told(&coming, &on), "+lab 4");
        assert_eq!(told(&on, &going), "-lab 4");
        assert_eq!(
            told(&going, &kernel(SchedExtState::Disabled, None, Some(4))),
            ""
        );
    }

    #[test]
    fn a_kernel_without_numbers_is_told_by_names() {
        let on = kernel(SchedExtState::Enabled, Some("lab"), None);
        let off = kernel(SchedExtState::Disabled, None, None);
        assert_eq!(told(&off, &on), "+lab ?");
        assert_eq!(told(&on, &off), "-lab ?");
        assert_eq!(told(&Fact::Absent, &on), "+lab ?");
    }
}
