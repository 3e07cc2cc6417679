//! Starts the guard process of a trial ([`crate::guard`]), where it outlives the schedctl that began
//! the trial, its terminal, and the session or service that this schedctl belongs to.
//!
//! ```text
//! systemd is PID 1 ─▶ a transient unit; its messages are in the journal
//!        └─ else, or if that fails ─▶ a process in a session of its own; /run/schedctl/guard.log
//! ```

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use schedkit_core::sanitize;
use schedkit_host::HostRoot;

use crate::runtimes::{Endpoint, driver_name};
use crate::service_manager::ServiceManager;
use crate::state_dir::StateDir;
use crate::systemctl;
use crate::trial::Trial;

const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
const LOG: &str = "guard.log";
const READY: &[u8] = b"ready";

/// How a guard process is started.
#[derive(Debug)]
pub(crate) struct GuardCommand<'a> {
    pub(crate) root: &'a HostRoot,
    pub(crate) state: &'a StateDir,
    pub(crate) endpoint: &'a Endpoint,
    /// The settings file of this run.
    pub(crate) config: Option<&'a Path>,
}

impl GuardCommand<'_> {
    /// Returns once the guard watches.
    pub(crate) fn start(&self, trial: &Trial) -> io::Result<()> {
        let program = std::env::current_exe()?;
        let args = self.arguments(trial)?;
        if systemctl::is_systemd_running(self.root) {
            match start_unit(&program, &args, trial) {
                Ok(()) => return Ok(()),
                Err(error) => tracing::warn!(
                    "systemd does not run the guard of the trial ({error}): the guard ends with \
                     the session or service that this schedctl belongs to"
                ),
            }
        }
        self.start_session(&program, &args)
    }

    /// Paths are absolute: a unit has another working directory.
    fn arguments(&self, trial: &Trial) -> io::Result<Vec<OsString>> {
        let driver = driver_name(self.endpoint.runtime);
        let mut args: Vec<OsString> = ["--log-level", "info", "--driver", driver, "--socket"]
            .map(OsString::from)
            .to_vec();
        args.push(std::path::absolute(&self.endpoint.socket)?.into());
        if let Some(config) = self.config {
            args.push("--config".into());
            args.push(std::path::absolute(config)?.into());
        }
        args.push("guard".into());
        args.push(trial.candidate.as_str().into());
        Ok(args)
    }

    fn start_session(&self, program: &Path, args: &[OsString]) -> io::Result<()> {
        let log = self.state.create_file(LOG).map_err(io::Error::other)?;
        let mut child = Command::new(program)
            .args(args)
            // That of the service which this schedctl belongs to.
            .env_remove(NOTIFY_SOCKET)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut output = Vec::new();
        if let Some(stdout) = &mut child.stdout {
            stdout.take(READY.len() as u64).read_to_end(&mut output)?;
        }
        if output == READY {
            return Ok(());
        }
        let _ = child.kill();
        let _ = child.wait();
        Err(io::Error::other("the guard process ended at once"))
    }
}

/// Called in the guard process: leaves the terminal's session, and tells whoever started it that it
/// watches.
pub(crate) fn report_ready() -> io::Result<()> {
    if let Some(socket) = std::env::var_os(NOTIFY_SOCKET) {
        ServiceManager::at(Some(socket)).ready("watching the trial");
        return Ok(());
    }
    match rustix::process::setsid() {
        // It leads one already.
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    // The parent may have been killed; the guard goes on.
    let _ = io::stdout().write_all(READY);
    let _ = io::stdout().flush();
    Ok(())
}

/// systemd-run returns once the unit has notified systemd, or has failed.
fn start_unit(program: &Path, args: &[OsString], trial: &Trial) -> io::Result<()> {
    let output = Command::new("systemd-run")
        .args(unit_options(trial))
        .arg("--")
        .arg(program)
        .args(args)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let reason = sanitize::brief(&String::from_utf8_lossy(&output.stderr));
    Err(io::Error::other(format!("systemd-run: {reason}")))
}

/// `--collect`: a guard that failed does not stay as a failed unit. A guard that was killed starts
/// again.
fn unit_options(trial: &Trial) -> Vec<String> {
    let scheduler = sanitize::brief(&trial.scheduler);
    vec![
        "--quiet".to_owned(),
        "--collect".to_owned(),
        "--no-ask-password".to_owned(),
        format!("--unit={}", unit_name(trial)),
        format!("--description=Guard of the trial of {scheduler} (schedctl)"),
        "--service-type=notify".to_owned(),
        "--property=TimeoutStartSec=30".to_owned(),
        "--property=Restart=on-failure".to_owned(),
        "--property=RestartSec=1".to_owned(),
    ]
}

/// A container is on trial once, so its id is the name.
fn unit_name(trial: &Trial) -> String {
    let id = trial.candidate.short();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let id: String = id.chars().filter(|c| is_safe(*c)).collect();
    format!("schedctl-guard-{id}.service")
}

#[cfg(test)]
mod tests {
    use schedkit_runtime::driver::Runtime;

    use super::*;
    use crate::fixtures::trial;

    #[test]
    fn the_arguments_do_not_depend_on_the_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint {
            runtime: Runtime::Containerd,
            socket: "my.sock".into(),
        };
        let command = GuardCommand {
            root: &HostRoot::at(folder.path()),
            state: &StateDir::at(folder.path()),
            endpoint: &endpoint,
            config: Some(Path::new("my.toml")),
        };
        let args = command.arguments(&trial("0123456789abcdef")).unwrap();
        let here = std::env::current_dir().unwrap();
        let socket = here.join("my.sock").display().to_string();
        let config = here.join("my.toml").display().to_string();
        let expected = [
            "--log-level",
            "info",
            "--driver",
            "containerd",
            "--socket",
            &socket,
            "--config",
            &config,
            "guard",
            "0123456789abcdef",
        ];
        assert_eq!(args, expected);
    }

    #[test]
    fn the_unit_is_of_its_own_and_starts_again_when_it_was_killed() {
        let options = unit_options(&trial("0123456789abcdef"));
        for expected in [
            "--unit=schedctl-guard-0123456789ab.service",
            "--collect",
            "--service-type=notify",
            "--property=Restart=on-failure",
        ] {
            assert!(options.iter().any(|one| one == expected), "{options:?}");
        }
    }
}
