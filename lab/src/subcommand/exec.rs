//! `lab exec`: runs a command on a node.

use std::process::ExitCode;

use lab::Lab;

pub(crate) fn run(lab: &Lab, node: &str, args: &[String]) -> anyhow::Result<ExitCode> {
    let status = lab.reachable_node(node)?.command(args).status()?;
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX);
    Ok(ExitCode::from(code))
}
