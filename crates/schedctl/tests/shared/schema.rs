//! The schema check, under the name that the end-to-end tests use.

pub(crate) use schedctl_schemas::check;
