//! schedctl's command line as a library: the program parses with it, and `xtask man` writes man
//! pages and completions from it.

pub mod args;
pub mod completion_scripts;
