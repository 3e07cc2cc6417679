//! What the kernel says about sched_ext, as documents show it. A file that it does not have, or
//! that cannot be read, is `null`.

use std::collections::BTreeMap;

use schedkit_host::sched_ext::Events;
use schedkit_host::{Fact, SchedExt, SchedExtState};
use serde::Serialize;

/// The first three fields are a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Kernel {
    /// `null`: it could not be found out.
    supported: Option<bool>,
    enabled: Option<bool>,
    ops: Option<String>,
    state: Option<String>,
    enable_seq: Option<u64>,
    switch_all: Option<bool>,
    nr_rejected: Option<u64>,
    events: BTreeMap<String, u64>,
}

impl From<&Fact<SchedExt>> for Kernel {
    fn from(fact: &Fact<SchedExt>) -> Self {
        let supported = match fact {
            Fact::Known(_) => Some(true),
            Fact::Absent => Some(false),
            Fact::Unreadable(_) | Fact::Malformed(_) => None,
        };
        let Some(seen) = fact.known() else {
            return Self {
                supported,
                enabled: supported,
                ops: None,
                state: None,
                enable_seq: None,
                switch_all: None,
                nr_rejected: None,
                events: BTreeMap::new(),
            };
        };
        let state = seen.state.known();
        let known = state.filter(|state| !matches!(state, SchedExtState::Unknown(_)));
        let counters = seen.events.known();
        let counters = counters.into_iter().flat_map(Events::iter);
        Self {
            supported,
            enabled: known.map(|state| *state == SchedExtState::Enabled),
            ops: seen.ops.known().map(ToString::to_string),
            state: state.map(|state| state.as_str().to_owned()),
            enable_seq: seen.enable_seq.known().copied(),
            switch_all: seen.switch_all.known().copied(),
            nr_rejected: seen.nr_rejected.known().copied(),
            events: counters
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
        }
    }
}

impl Kernel {
    /// For a person, in one line.
    pub(super) fn line(&self) -> String {
        match self.supported {
            Some(false) => return "no sched_ext".to_owned(),
            None => return "cannot be told".to_owned(),
            Some(true) => {}
        }
        let state = self.state.as_deref().unwrap_or("state cannot be told");
        match &self.ops {
            Some(ops) => format!("{state}, {ops}"),
            None => state.to_owned(),
        }
    }

    /// Without what never stands still.
    pub(super) fn without_counters(mut self) -> Self {
        self.events.clear();
        self
    }
}
