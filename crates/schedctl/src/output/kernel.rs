//! The kernel's sched_ext state, as documents show it. A file that is missing or cannot be read is
//! `null`.

use std::collections::BTreeMap;

use schedkit_host::sched_ext::Events;
use schedkit_host::{Fact, KernelSchedExt, SchedExtState};
use serde::Serialize;

/// The first three fields are part of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct KernelDocument {
    /// `null` if unknown.
    supported: Option<bool>,
    enabled: Option<bool>,
    ops: Option<String>,
    state: Option<String>,
    enable_seq: Option<u64>,
    switch_all: Option<bool>,
    nr_rejected: Option<u64>,
    events: BTreeMap<String, u64>,
}

impl From<&Fact<KernelSchedExt>> for KernelDocument {
    fn from(fact: &Fact<KernelSchedExt>) -> Self {
        let supported = match fact {
            Fact::Known(_) => Some(true),
            Fact::Absent => Some(false),
            Fact::Unreadable(_) | Fact::Malformed(_) => None,
        };
        let Some(kernel) = fact.known() else {
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
        let state = kernel.state.known();
        let known = state.filter(|state| !matches!(state, SchedExtState::Unknown(_)));
        let counters = kernel.events.known();
        let counters = counters.into_iter().flat_map(Events::iter);
        Self {
            supported,
            enabled: known.map(|state| *state == SchedExtState::Enabled),
            ops: kernel.ops.known().map(ToString::to_string),
            state: state.map(|state| state.as_str().to_owned()),
            enable_seq: kernel.enable_seq.known().copied(),
            switch_all: kernel.switch_all.known().copied(),
            nr_rejected: kernel.nr_rejected.known().copied(),
            events: counters
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
        }
    }
}

impl KernelDocument {
    pub(super) fn line(&self) -> String {
        match self.supported {
            Some(false) => return "no sched_ext".to_owned(),
            None => return "unknown".to_owned(),
            Some(true) => {}
        }
        let state = self.state.as_deref().unwrap_or("unknown state");
        match &self.ops {
            Some(ops) => format!("{state}, {ops}"),
            None => state.to_owned(),
        }
    }

    /// The counters change all the time.
    pub(super) fn without_counters(mut self) -> Self {
        self.events.clear();
        self
    }
}
