//! The process that writes a scheduler's output to its log: schedctl again, which containerd's shim
//! starts with the read ends of two pipes.
//!
//! ```text
//! scheduler ─pipes─▶ a thread for each ─queue─▶ BoundedFile
//!                        │  a disk that hangs: dropped after a second, and noted
//!                        └─ killed: the standby goes on with the same pipes
//! ```
//!
//! A scheduler that writes to a full pipe stops, and the machine with it; one that writes to a closed
//! pipe may end. So the pipes must be read and stay open whatever happens: nothing here waits for the
//! disk for long, and a standby, a second process of the same kind, takes over when this one is killed.

mod standby;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use self::standby::Standby;
use super::log::bounded_file::BoundedFile;
use super::log::entry::Source;
use super::log::lines::Lines;

/// The first argument; the second is the path of the log.
const COMMAND: &str = "write-log";
/// The third argument of a standby.
const STANDBY: &str = "--standby";
/// As it is listed: not with the commands of schedctl, which somebody may kill by their name.
const PROCESS_NAME: &std::ffi::CStr = c"schedctl-log";
/// What the shim passes: the scheduler's output, and where to say that this process is ready.
const STDOUT: &str = "/proc/self/fd/3";
const STDERR: &str = "/proc/self/fd/4";
const READY: &str = "/proc/self/fd/5";
/// The most that an ordinary process may ask for.
const PIPE_BYTES: usize = 1 << 20;
const CHUNK: usize = 64 * 1024;
/// In chunks.
const QUEUE: usize = 16;
/// For a disk that hangs; a scheduler is stalled after 30 seconds.
const PATIENCE: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(5);
const OPEN_LINE: Duration = Duration::from_millis(100);

/// What this process was started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogToWrite {
    path: PathBuf,
    role: Role,
}

/// Who has started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// containerd's shim.
    Writer,
    /// A writer: this process waits until that one is killed.
    Standby,
}

/// A part of a stream.
#[derive(Debug)]
struct Piece {
    source: Source,
    bytes: Vec<u8>,
    /// So many bytes before it were dropped.
    lost: u64,
}

impl LogToWrite {
    /// By the arguments of this process: `None` if neither a shim nor a writer has started it.
    pub fn requested(argv: &[OsString]) -> Option<Self> {
        let (path, role) = match argv {
            [_, command, path] if command == COMMAND => (path, Role::Writer),
            [_, command, path, option] if command == COMMAND && option == STANDBY => {
                (path, Role::Standby)
            }
            _ => return None,
        };
        let path = path.into();
        Some(Self { path, role })
    }

    /// Writes the output of a container's process to a file that exists, until both streams end.
    ///
    /// # Errors
    /// When the shim's pipes cannot be opened.
    pub fn write(&self) -> io::Result<()> {
        // Only how it is listed.
        let _ = rustix::thread::set_name(PROCESS_NAME);
        let shim = match self.role {
            Role::Writer => getppid().and_then(|shim| pidfd_open(shim, PidfdFlags::empty()).ok()),
            Role::Standby if !standby::wait_for_takeover()? => return Ok(()),
            Role::Standby => None,
        };
        let (stdout, stderr) = (open_pipe(STDOUT)?, open_pipe(STDERR)?);
        let mut file = BoundedFile::open(&self.path);
        let args = [
            OsStr::new(COMMAND),
            self.path.as_os_str(),
            OsStr::new(STANDBY),
        ];
        let standby = Standby::keep(args.map(OsString::from).to_vec());
        let (sender, receiver) = sync_channel(QUEUE);
        forward(stdout, Source::Stdout, sender.clone())?;
        forward(stderr, Source::Stderr, sender)?;
        report_ready();
        write_pieces(&receiver, &mut file);
        // Readers wait until it is closed.
        drop(file);
        standby.end();
        shim.as_ref().map_or(Ok(()), wait_for_end)
    }
}

/// The address that makes the shim start `program` for a log.
pub(super) fn address(program: &Path, log: &Path) -> String {
    // The shim passes each parameter of the query as two arguments, in any order: so there is one.
    let (program, log) = (encoded(program.as_os_str()), encoded(log.as_os_str()));
    format!("binary://{program}?{COMMAND}={log}")
}

/// This program; by its process if its file was replaced or removed, for an upgrade.
pub(super) fn this_program() -> PathBuf {
    let by_process = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let is_same = |path: &PathBuf| match (path.metadata(), by_process.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    };
    let path = std::env::current_exe().ok();
    path.filter(is_same).unwrap_or(by_process)
}

/// A pipe by its inherited number, larger than it was.
fn open_pipe(path: &str) -> io::Result<File> {
    let pipe = File::open(path)?;
    // The kernel may have a limit for this user.
    let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_BYTES);
    Ok(pipe)
}

/// Reads a stream to its end, in a thread.
fn forward(mut pipe: File, source: Source, to: SyncSender<Piece>) -> io::Result<()> {
    let read = move || {
        let _fatal = AbortOnPanic;
        let mut buffer = vec![0; CHUNK];
        let mut queue = Queue { to, lost: 0 };
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => queue.push(source, &buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        queue.push(source, &[]);
    };
    let name = format!("{source:?}").to_lowercase();
    thread::Builder::new().name(name).spawn(read).map(drop)
}

/// A stream that nobody reads would stop the scheduler: then the standby has to take over.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

struct Queue {
    to: SyncSender<Piece>,
    /// So many bytes were dropped since the last piece.
    lost: u64,
}

impl Queue {
    /// Waits for room, unless it did so in vain for the piece before.
    fn push(&mut self, source: Source, bytes: &[u8]) {
        let end = match self.lost {
            0 => Instant::now() + PATIENCE,
            _ => Instant::now(),
        };
        let (bytes, lost) = (bytes.to_vec(), self.lost);
        let mut piece = Piece {
            source,
            bytes,
            lost,
        };
        loop {
            piece = match self.to.try_send(piece) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => {
                    self.lost = 0;
                    return;
                }
                Err(TrySendError::Full(piece)) => piece,
            };
            if Instant::now() >= end {
                self.lost += piece.bytes.len() as u64;
                return;
            }
            thread::sleep(RETRY);
        }
    }
}

/// Until both streams have ended.
fn write_pieces(pieces: &Receiver<Piece>, file: &mut BoundedFile) {
    let mut stdout = Lines::new(Source::Stdout);
    let mut stderr = Lines::new(Source::Stderr);
    let mut entries = Vec::new();
    let mut output = 0;
    loop {
        let piece = match stdout.is_open() || stderr.is_open() {
            true => pieces.recv_timeout(OPEN_LINE),
            false => pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let now = Timestamp::now();
        match piece {
            Ok(piece) => {
                if piece.lost > 0 {
                    file.lose(piece.lost, "the disk did not answer");
                }
                output += piece.bytes.len() as u64;
                let lines = match piece.source {
                    Source::Stderr => &mut stderr,
                    Source::Stdout | Source::Writer => &mut stdout,
                };
                lines.push(&piece.bytes, now, &mut entries);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                stdout.finish(&mut entries);
                stderr.finish(&mut entries);
                file.append(&entries, output, now);
                return;
            }
        }
        stdout.end_late(now, &mut entries);
        stderr.end_late(now, &mut entries);
        if !entries.is_empty() {
            file.append(&entries, output, now);
            entries.clear();
            output = 0;
        }
    }
}

/// The shim waits for one byte, or until this process has ended.
fn report_ready() {
    let ready = File::options().write(true).open(READY);
    let _ = ready.and_then(|mut ready| ready.write_all(b"1"));
}

/// The shim ends this process when it deletes the container, by its number: until then the number must
/// not belong to another process.
fn wait_for_end(shim: &OwnedFd) -> io::Result<()> {
    let mut ended = [PollFd::new(shim, PollFlags::IN)];
    loop {
        match poll(&mut ended, None) {
            Err(Errno::INTR) => {}
            other => return Ok(other.map(drop)?),
        }
    }
}

fn encoded(text: &OsStr) -> String {
    let mut out = String::new();
    for byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(*byte));
            }
            other => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
