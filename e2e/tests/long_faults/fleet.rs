//! The size and the name of what the soak tests work with.

use std::time::Duration;

pub(crate) const NAMESPACE: &str = "fleet";
pub(crate) const NODES: usize = 20;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);
