//! `schedctl status` against `podman ps` on the same store, interleaved, while Podman's service is
//! warm; its memory; and the size of the program. Fails when ours takes more than a fifth of the
//! time, more than 15 MB of memory, or more than 12 MB on disk.
//!
//! The kernel need not know sched_ext. In the store is one container of ours that does not run, so
//! that neither has an empty list.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use testkit::bench::command::{kilobytes, median, program, timed};
use testkit::bench::figures::{beside, within};
use testkit::podman::CONFIGURATION;

const RUNS: usize = 20;
const MOST_OF_PODMAN: f64 = 0.2;
const MOST_KILOBYTES: f64 = 15_000.0;
const MOST_BYTES: f64 = 12_000_000.0;
const TIMEOUT: Duration = Duration::from_secs(60);

/// A Podman with a store of its own, and its service. Both end with this.
struct Podman {
    folder: tempfile::TempDir,
    service: Option<Child>,
}

fn main() -> anyhow::Result<ExitCode> {
    let podman = Podman::serve()?;
    let folder = podman.folder.path();
    let ours = || -> anyhow::Result<Command> {
        let mut status = Command::new(program()?);
        status.env_clear().arg("--socket").arg(podman.socket());
        status.args(["--log-level", "error", "status"]);
        Ok(status)
    };
    let ps = || podman.command(&["ps"]);
    let remote = || podman.remote(&["ps"]);
    // The first of each warms caches.
    for mut first in [ours()?, ps(), remote()] {
        timed(&mut first)?;
    }
    let (mut our_times, mut ps_times, mut remote_times) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for _ in 0..RUNS {
        our_times.push(timed(&mut ours()?)?);
        ps_times.push(timed(&mut ps())?);
        remote_times.push(timed(&mut remote())?);
        memory.push(kilobytes(&ours()?, folder)?);
    }
    let (our_time, most) = (median(our_times), MOST_OF_PODMAN);
    let ps_time = ("podman ps", median(ps_times));
    let remote_time = ("podman --remote ps", median(remote_times));
    let bytes = std::fs::metadata(program()?)?.len();
    #[expect(clippy::cast_precision_loss, reason = "no program has 2^52 bytes")]
    let met = [
        beside("status", "ms", our_time, ps_time, most)?,
        beside("status", "ms", our_time, remote_time, most)?,
        within("status", "kB", median(memory), MOST_KILOBYTES)?,
        within("program", "bytes", bytes as f64, MOST_BYTES)?,
    ];
    Ok(if met == [true; 4] {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Podman {
    fn serve() -> anyhow::Result<Self> {
        // Podman wants its paths to be short.
        let folder = tempfile::Builder::new().prefix("bench").tempdir()?;
        let mut podman = Self {
            folder,
            service: None,
        };
        std::fs::write(podman.path("containers.conf"), CONFIGURATION)?;
        std::fs::create_dir(podman.path("empty"))?;
        let empty = podman.path("empty").display().to_string();
        // Named like a container of schedctl's.
        let args = ["create", "--name", "schedkit-bench-00000001"];
        let label = ["--label", "provider=schedkit", "--rootfs", &empty];
        let mut create = podman.command(&[&args[..], &label, &["/scheduler"]].concat());
        timed(&mut create)?;
        let address = format!("unix://{}", podman.socket().display());
        let mut service = podman.command(&["system", "service", "--time", "0", &address]);
        service.stdin(Stdio::null()).stdout(Stdio::null());
        podman.service = Some(service.stderr(Stdio::null()).spawn()?);
        podman.listens()?;
        Ok(podman)
    }

    fn listens(&mut self) -> anyhow::Result<()> {
        let (begin, socket) = (Instant::now(), self.socket());
        while UnixStream::connect(&socket).is_err() {
            if let Some(service) = &mut self.service
                && let Some(status) = service.try_wait()?
            {
                bail!("podman's service ended with {status}");
            }
            ensure!(begin.elapsed() < TIMEOUT, "podman does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut podman = Command::new("podman");
        for (flag, name) in [
            ("--root", "root"),
            ("--runroot", "run"),
            ("--tmpdir", "tmp"),
        ] {
            podman.arg(flag).arg(self.path(name));
        }
        podman.args(["--storage-driver", "vfs"]).args(args);
        podman.env("CONTAINERS_CONF", self.path("containers.conf"));
        podman
    }

    fn remote(&self, args: &[&str]) -> Command {
        let mut podman = Command::new("podman");
        let address = format!("unix://{}", self.socket().display());
        podman.args(["--remote", "--url", &address]).args(args);
        podman
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }

    fn socket(&self) -> PathBuf {
        self.path("podman.sock")
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        if let Some(service) = &mut self.service {
            let _ = service.kill();
            let _ = service.wait();
        }
    }
}
