//! `lab console`: connects the terminal to a node's serial console.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::Context;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use lab::Lab;

/// Ctrl-], as in telnet.
const LEAVE: u8 = 0x1d;

pub(crate) fn run(lab: &Lab, node: &str) -> anyhow::Result<ExitCode> {
    let node = lab.node(node)?.name().to_owned();
    // A socket path is limited to 108 bytes, so it is relative to its folder.
    std::env::set_current_dir(lab.state().folder())?;
    let console = UnixStream::connect(format!("{node}.console")).with_context(|| {
        format!("cannot reach the console of {node}: its virtual machine has ended; `lab logs {node}` shows why")
    })?;
    writeln!(io::stderr(), "Console of {node}. Ctrl-] disconnects.\r")?;
    let _raw = Raw::enter()?;
    let mut from_node = console.try_clone()?;
    std::thread::spawn(move || {
        let _ = io::copy(&mut from_node, &mut Unbuffered(io::stdout()));
    });
    send_input(console)?;
    Ok(ExitCode::SUCCESS)
}

/// Sends what is typed until Ctrl-] or the end of input.
fn send_input(mut console: UnixStream) -> io::Result<()> {
    let mut typed = [0; 256];
    let mut input = io::stdin().lock();
    loop {
        let count = input.read(&mut typed)?;
        let end = typed[..count].iter().position(|byte| *byte == LEAVE);
        console.write_all(&typed[..end.unwrap_or(count)])?;
        if end.is_some() || count == 0 {
            return Ok(());
        }
    }
}

/// The terminal without echo and line editing; restored when dropped.
struct Raw(Option<(File, Termios)>);

impl Raw {
    fn enter() -> anyhow::Result<Self> {
        if !isatty(io::stdin()) {
            return Ok(Self(None));
        }
        let terminal = File::open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Self(Some((terminal, before))))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some((terminal, before)) = &self.0 {
            let _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

/// Standard output, flushed after every write.
pub(super) struct Unbuffered(pub(super) io::Stdout);

impl Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.0.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
