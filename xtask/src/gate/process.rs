//! Runs one command of the gate: its output is shown as it comes and kept for the cause of a
//! failure, its time is taken, and it is killed when it hangs or the disk is full: without room
//! etcd stops, and every test after that would wait until its limit.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::cause;
use super::disk_space;
use super::terminal::println;

/// How often the room on the disk is looked at.
const DISK_INTERVAL: Duration = Duration::from_secs(2);

/// What became of a command.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) success: bool,
    pub(super) time: Duration,
    pub(super) passed: usize,
    /// Of a failure.
    pub(super) cause: String,
}

impl Ended {
    pub(super) fn success(time: Duration) -> Self {
        Self {
            success: true,
            time,
            ..Self::default()
        }
    }

    /// Both as one; the first cause counts.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            success: self.success && other.success,
            time: self.time + other.time,
            passed: self.passed + other.passed,
            cause: if self.success {
                other.cause
            } else {
                self.cause
            },
        }
    }

    pub(super) fn failed(cause: String, time: Duration) -> Self {
        Self {
            cause,
            time,
            ..Self::default()
        }
    }
}

pub(super) fn run(command: &mut Command, limit: Duration) -> Ended {
    run_showing(println, command, limit)
}

/// For suites, which run at the same time: each line begins with the name of its suite, and that of
/// a test ends with its time.
pub(super) fn run_suite(name: &str, command: &mut Command, limit: Duration) -> Ended {
    let name = name.to_owned();
    let last = Arc::new(Mutex::new(Instant::now()));
    let show = move |line: &str| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let time = last.elapsed().as_secs_f64();
        if line.starts_with("test ") && !line.starts_with("test result") {
            *last = Instant::now();
            println(&format!("{name}: {line} {time:.1} s"));
        } else {
            println(&format!("{name}: {line}"));
        }
    };
    run_showing(show, command, limit)
}

fn run_showing(
    show: impl Fn(&str) + Clone + Send + 'static,
    command: &mut Command,
    limit: Duration,
) -> Ended {
    let begin = Instant::now();
    match Running::start(command, show) {
        Ok(running) => running.wait(begin, limit),
        Err(error) => {
            let program = command.get_program().display();
            Ended::failed(format!("cannot start {program}: {error}"), begin.elapsed())
        }
    }
}

/// A command that runs beside others; its lines are shown with a prefix.
pub(super) struct Background(JoinHandle<Ended>);

impl Background {
    pub(super) fn start(prefix: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        let begin = Instant::now();
        let running = Running::start(command, move |line| println(&format!("{prefix}: {line}")))?;
        let limit = Duration::from_secs(80 * 60);
        Ok(Self(thread::spawn(move || running.wait(begin, limit))))
    }

    pub(super) fn wait(self) -> Ended {
        self.0.join().unwrap_or_else(|_| {
            let cause = "the thread that waits for it panicked".to_owned();
            Ended::failed(cause, Duration::ZERO)
        })
    }
}

/// Why a command ended.
enum Exit {
    Status(ExitStatus),
    /// It hung and was killed.
    TimedOut,
    /// It was killed, because this folder's disk has no room.
    Full(PathBuf),
}

struct Running {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(
        command: &mut Command,
        show: impl Fn(&str) + Clone + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, lines) = mpsc::channel();
        let mut readers = Vec::new();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for stream in streams.into_iter().flatten() {
            let (sender, show) = (sender.clone(), show.clone());
            readers.push(thread::spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    show(&line);
                    let _ = sender.send(line);
                }
            }));
        }
        Ok(Self {
            child,
            readers,
            lines,
        })
    }

    fn wait(mut self, begin: Instant, limit: Duration) -> Ended {
        let status = self.status(begin, limit);
        let time = begin.elapsed();
        // A process that the command left behind may hold the pipes: what is there is enough.
        if matches!(status, Ok(Exit::Status(_))) {
            for reader in self.readers {
                let _ = reader.join();
            }
        }
        let lines: Vec<String> = self.lines.try_iter().collect();
        let passed = cause::passed(&lines);
        match status {
            Ok(Exit::Full(folder)) => {
                let folder = folder.display();
                let cause = format!("the disk is full ({folder}); free some space");
                Ended::failed(cause, time)
            }
            Ok(Exit::Status(status)) if status.success() => Ended {
                passed,
                ..Ended::success(time)
            },
            Ok(Exit::Status(status)) => Ended {
                time,
                passed,
                cause: cause::of(&lines).unwrap_or_else(|| format!("it ended with {status}")),
                ..Ended::default()
            },
            Ok(Exit::TimedOut) => Ended::failed(format!("it did not end within {limit:?}"), time),
            Err(error) => Ended::failed(format!("cannot wait for it: {error}"), time),
        }
    }

    fn status(&mut self, begin: Instant, limit: Duration) -> std::io::Result<Exit> {
        let mut looked = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Exit::Status(status));
            }
            if begin.elapsed() >= limit {
                self.kill()?;
                return Ok(Exit::TimedOut);
            }
            if looked.elapsed() >= DISK_INTERVAL {
                looked = Instant::now();
                if let Some(folder) = disk_space::full() {
                    self.kill()?;
                    return Ok(Exit::Full(folder));
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn kill(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
