//! Which signatures are accepted, and which are refused for which reason: every refusal has a case
//! that only its own check refuses. `cases` runs the table that the tests with real cosign share;
//! the other modules make, in memory, what no real signer makes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like the tests themselves"
)]

mod by_certificate;
mod by_key;
mod cases;
mod certificate;
mod conformity;
mod ended_log;
mod fixture;
mod key_pair;
mod key_times;
mod log;
mod memory_registry;
mod payload;
mod places;
mod root;
mod rules;
mod search;
mod sigstore;
mod stricter;
mod updated_root;
mod world;
