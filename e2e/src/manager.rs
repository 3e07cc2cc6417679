//! A process of sked on this machine (`sked manager`, `sked node-agent`), killed when dropped.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use crate::program;
use crate::wait::{TIMEOUT, eventually_or};

pub struct Manager {
    process: Child,
    log: PathBuf,
    port: u16,
}

impl Manager {
    /// Starts `sked COMMAND` with this kubeconfig, through a launcher if there is one; its log goes
    /// into `folder`.
    pub fn start(
        launcher: &[&str],
        command: &str,
        kubeconfig: &Path,
        args: &[&str],
        folder: &Path,
    ) -> Self {
        let port = free_port();
        let log = folder.join(format!("{command}-{port}.log"));
        let mut process = match launcher {
            [] => Command::new(program::sked()),
            [launcher, more @ ..] => {
                let mut launched = Command::new(launcher);
                launched.args(more).arg(program::sked());
                launched
            }
        };
        let process = process
            .arg(command)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg(format!("--health-probe-bind-address=127.0.0.1:{port}"))
            .args(args)
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        Self { process, log, port }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The HTTP status of a probe, if somebody answers.
    pub fn probe(&self, path: &str) -> Option<u16> {
        let url = format!("http://127.0.0.1:{}/{path}", self.port);
        match ureq::get(&url).call() {
            Ok(answer) => Some(answer.status().as_u16()),
            Err(ureq::Error::StatusCode(code)) => Some(code),
            Err(_) => None,
        }
    }

    /// Waits until its caches are filled.
    pub fn ready(self) -> Self {
        self.eventually("the manager is ready", || self.probe("readyz") == Some(200));
        self
    }

    /// Sends a signal by name.
    pub fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let log = self.log.clone();
        let process = &mut self.process;
        eventually_or(
            "sked ends",
            TIMEOUT,
            || process.try_wait().unwrap(),
            || std::fs::read_to_string(log).unwrap_or_default(),
        )
    }

    /// Sends SIGTERM and expects exit code 0.
    #[track_caller]
    pub fn stop(mut self) {
        self.signal("TERM");
        let status = self.wait();
        assert!(status.success(), "{status}\n{}", self.log());
    }

    /// Waits until something holds; the failure shows this manager's log.
    #[track_caller]
    pub fn eventually(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let ask = || holds().then_some(());
        eventually_or(what, TIMEOUT, ask, || self.log());
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listened on a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
