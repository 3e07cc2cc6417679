//! Tests that cannot share a control plane with others because they install and uninstall sked,
//! start without its CRDs, hold elections, or stop the API server.
//!
//! One control plane without nodes and without kwok for installations and elections
//! ([`install::fixture`]), one whose services are stopped ([`lab_services`]).

#![cfg(test)]

mod elections;
mod install;
mod lab_services;
mod missing_crds;
