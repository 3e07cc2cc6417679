//! Checks the planner's results by rules of its own.
//!
//! Tests run these checks on everything that they generate, and the manager runs them before it
//! writes: a result that breaks a rule is not executed. The checks share no code with the planner.
//! Where they must know which nodes a template admits, they read the template that would be
//! written.

mod claims;
mod isolate;
mod steps;
mod template;
mod violation;

pub use claims::check_claims;
pub use isolate::isolate;
pub use steps::check_plan;
pub use violation::Violation;

#[cfg(test)]
mod tests;
