//! What a real API server takes and what it refuses. One lab for the whole file: a control plane
//! without nodes.
//!
//! Green says nothing about what the operator makes of an accepted SchedExt.

#![cfg(test)]

mod accepted;
mod case;
mod hostile;
mod limits;
mod one_rule;
mod schedext;
mod server;
mod shown;
