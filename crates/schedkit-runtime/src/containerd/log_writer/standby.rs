//! The second process: it has the same pipes and does not read them before the first one is killed.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// This program, also if its file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// Said to a standby that is not needed any more. One that hears nothing takes over.
const DONE: &[u8] = b"done";
/// Before another one is started in the place of one that was killed.
const RESTART: Duration = Duration::from_millis(500);

/// Keeps a standby running, in a thread.
#[derive(Debug)]
pub(super) struct Standby(Arc<Mutex<Link>>);

/// The standby notices by its standard input that this process has ended.
#[derive(Debug)]
enum Link {
    None,
    To(ChildStdin),
    Done,
}

impl Standby {
    /// Where no process can be started, the log is written without a standby until one can.
    pub(super) fn keep(args: Vec<OsString>) -> Self {
        let link = Arc::new(Mutex::new(Link::None));
        let shared = Arc::clone(&link);
        // Without this thread there is no standby, and the log is written as well.
        let _ = thread::Builder::new()
            .name("standby".to_owned())
            .spawn(move || keep(&args, &shared));
        Self(link)
    }

    pub(super) fn end(self) {
        let mut link = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Link::To(mut stdin) = std::mem::replace(&mut *link, Link::Done) {
            let _ = stdin.write_all(DONE);
        }
    }
}

fn keep(args: &[OsString], link: &Mutex<Link>) {
    loop {
        let mut command = Command::new(PROGRAM);
        let command = command.arg0("schedctl").args(args);
        let started = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(mut child) = started {
            {
                let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
                match (&*link, child.stdin.take()) {
                    (Link::Done, Some(mut stdin)) => {
                        let _ = stdin.write_all(DONE);
                    }
                    (_, Some(stdin)) => *link = Link::To(stdin),
                    (_, None) => {}
                }
            }
            let _ = child.wait();
        }
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        match *link {
            Link::Done => return,
            Link::None | Link::To(_) => *link = Link::None,
        }
        drop(link);
        thread::sleep(RESTART);
    }
}

/// Called in the standby: whether the writer has been killed.
pub(super) fn wait_for_takeover() -> io::Result<bool> {
    ignore_signals()?;
    let mut said = Vec::new();
    // If it cannot be heard, it may be gone.
    let _ = io::stdin().take(DONE.len() as u64).read_to_end(&mut said);
    Ok(said != DONE)
}

/// Whoever ends all processes of schedctl, such as with `killall`, must not end both. The standby ends
/// when the streams do.
fn ignore_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _entered = runtime.enter();
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ] {
        // What was listened for once never ends the process again.
        drop(signal(kind)?);
    }
    Ok(())
}
