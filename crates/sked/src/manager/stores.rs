//! What the manager knows of the cluster: one store for each kind.
//!
//! ```text
//! API server ─watch▶ decode (trims objects while parsing) ─▶ store ─change▶ listener (manager::requeue)
//!                                                             ▲
//!             apply, claims, gates, status_writer ────────────┘ the result of each own write, at once
//! ```
//!
//! A store keeps only what the planner reads. Every change of a store, from a watch or from an own
//! write, notifies the store's listener.

mod agent;
mod daemonset;
mod decode;
mod failed_create;
mod node;
mod pod;
mod report;
mod schedext;
mod store;

use sked_plan::{LiveDaemonSet, LivePod, Node};

pub(crate) use agent::AgentPod;
pub(crate) use decode::{Decoded, FullObject, Watched};
pub(crate) use failed_create::FailedCreateEvent;
pub(crate) use node::key as node_key;
pub(crate) use report::ReportOfNode;
pub(crate) use schedext::{SchedExtEntry, Unreadable};
pub(crate) use store::{Change, Source, Store, Stored};

#[derive(Default)]
pub(crate) struct Stores {
    pub(crate) schedexts: Store<SchedExtEntry>,
    pub(crate) daemonsets: Store<LiveDaemonSet>,
    pub(crate) pods: Store<LivePod>,
    pub(crate) failed_creates: Store<FailedCreateEvent>,
    pub(crate) nodes: Store<Node>,
    pub(crate) reports: Store<ReportOfNode>,
    pub(crate) agents: Store<AgentPod>,
}
