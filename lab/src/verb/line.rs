//! `lab line`: what ssh runs to reach a node that has no network.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;

use anyhow::Context;

use super::console::Unbuffered;

/// Carries bytes both ways and ends as soon as one side has: the line takes one caller at a time,
/// and whoever stayed on it would keep the next one out.
pub(crate) fn run(socket: &Path) -> anyhow::Result<ExitCode> {
    let mut to_node = UnixStream::connect(socket).context("cannot reach the serial line")?;
    // The node's sshd speaks first, so it must not start before there is somebody to hear it.
    to_node.write_all(b"open\n")?;
    let mut from_node = to_node.try_clone()?;
    let (ended, ends) = mpsc::channel();
    let hung_up = ended.clone();
    std::thread::spawn(move || hung_up.send(io::copy(&mut io::stdin(), &mut to_node)));
    std::thread::spawn(move || ended.send(io::copy(&mut from_node, &mut Unbuffered(io::stdout()))));
    ends.recv()??;
    Ok(ExitCode::SUCCESS)
}
