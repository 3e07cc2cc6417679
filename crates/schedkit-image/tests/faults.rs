//! The registry client against registries that misbehave: each case has an exact error, a bounded
//! number of requests and a bounded number of bytes. Green does not prove that real registries
//! are understood; the lab's tests do.

#![expect(
    clippy::unwrap_used,
    reason = "what tests share is as much a test as they are"
)]

#[path = "faults/asking.rs"]
mod asking;
#[path = "faults/bodies.rs"]
mod bodies;
#[path = "faults/lists.rs"]
mod lists;
#[path = "faults/logins.rs"]
mod logins;
#[path = "faults/mirrors.rs"]
mod mirrors;
#[path = "faults/server.rs"]
mod server;
#[path = "faults/statuses.rs"]
mod statuses;
#[path = "faults/tls.rs"]
mod tls;
#[path = "faults/tokens.rs"]
mod tokens;
