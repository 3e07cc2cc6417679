//! What the manager does when the cluster around it refuses things, takes things away or does not
//! answer: pods refused, a namespace that is being deleted, nodes that vanish, names of the maximum
//! length, an API server that is away or silent, rights that are missing. Each time the manager reports what
//! is wrong and what to do, disturbs no other SchedExt, backs off, and goes on when it can.

mod api_server_away;
mod long_names;
mod namespace_terminating;
mod nodes_vanish;
mod pods_refused;
mod rights_missing;
mod silent_peer;
