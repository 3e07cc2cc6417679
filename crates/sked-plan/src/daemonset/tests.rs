//! Rendered DaemonSets against golden files.
