//! The command line of `kubectl sx` as a library: the program parses with it, and `xtask man` writes
//! man pages from it.

pub mod args;
