//! Why something could not be done on a node.

use std::io;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("{node}: `{command}` failed with status {status}: {output}")]
    Failed {
        node: String,
        command: String,
        status: i32,
        output: String,
    },
    #[error("{node}: {what}: not within {timeout:?}")]
    Timeout {
        node: String,
        what: String,
        timeout: Duration,
    },
    #[error("cannot start ssh, or read the file for the node")]
    Io(#[from] io::Error),
}
