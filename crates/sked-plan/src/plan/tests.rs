//! Which DaemonSets are made, put right, removed, and which are left alone.
