//! The registry client against registries that misbehave, and the refresh of the trusted root against
//! such mirrors: each case has an exact error, a bounded number of requests and a bounded number of
//! bytes. Real registries are tested in the lab.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like the tests themselves"
)]

mod bodies;
mod client;
mod lists;
mod logins;
mod mirrors;
mod server;
mod statuses;
mod tls;
mod tokens;
mod tuf_mirror;
