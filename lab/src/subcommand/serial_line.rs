//! `lab serial-line`: connects ssh to a node without network, over its serial line.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;

use anyhow::Context;

use super::console::Unbuffered;

/// Copies bytes both ways and returns as soon as one side has closed: the line takes one connection
/// at a time.
pub(crate) fn run(socket: &Path) -> anyhow::Result<ExitCode> {
    let mut to_node = UnixStream::connect(socket)
        .context("cannot reach the node's serial line: its virtual machine has ended")?;
    // sshd sends first, so the node starts it only after this line.
    to_node.write_all(b"open\n")?;
    let mut from_node = to_node.try_clone()?;
    let (sender, ends) = mpsc::channel();
    let input_end = sender.clone();
    std::thread::spawn(move || input_end.send(io::copy(&mut io::stdin(), &mut to_node)));
    std::thread::spawn(move || {
        sender.send(io::copy(&mut from_node, &mut Unbuffered(io::stdout())))
    });
    ends.recv()??;
    Ok(ExitCode::SUCCESS)
}
