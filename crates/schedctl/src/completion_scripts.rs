//! Scripts that ask schedctl what the last word of a command line may be: for `schedctl completion`,
//! and for the files of packages.

pub const BASH: &str = include_str!("../completions/schedctl.bash");
pub const ZSH: &str = include_str!("../completions/schedctl.zsh");
pub const FISH: &str = include_str!("../completions/schedctl.fish");
