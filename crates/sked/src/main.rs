//! The operator sked.
fn main() {}
