//! What can be said to schedctl, as a library: the program parses with it, and `xtask man` writes
//! man pages and completions from it, so that neither can say what the other does not know.

pub mod args;
