//! A trusted root that stays fresh: which repositories of TUF are believed, and what is kept of them.
//! The repositories are folders; mirrors on web servers are in `faults`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail like the tests themselves"
)]

mod fixture;
mod kept;
mod refresh;
mod source;
