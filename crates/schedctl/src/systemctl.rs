//! Runs systemctl. A wait for systemd can be interrupted, which leaves systemd at its work.

use std::io::ErrorKind;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use schedkit_core::sanitize::brief;
use schedkit_host::HostRoot;
use tokio::process::Command;

use crate::interrupt::Interrupt;

/// Exists only if systemd is the init process; see sd_booted(3).
const SYSTEMD_RUNNING: &str = "/run/systemd/system";
const PROGRAM: &str = "systemctl";

pub(crate) fn is_systemd_running(root: &HostRoot) -> bool {
    root.path(SYSTEMD_RUNNING).is_dir()
}

/// Changes files only, which takes no time; a running systemd must reload them.
pub(crate) async fn change_files(
    root: &HostRoot,
    verb: &str,
    units: &[String],
) -> anyhow::Result<()> {
    if units.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(PROGRAM);
    command.arg("--root").arg(root.as_path());
    call(command.args([verb, "--"]).args(units), verb).await
}

/// A request to systemd itself.
pub(crate) async fn ask(verb: &str, units: &[String]) -> anyhow::Result<()> {
    let mut command = Command::new(PROGRAM);
    command.arg(verb);
    if !units.is_empty() {
        command.arg("--").args(units);
    }
    call(&mut command, verb).await
}

/// What systemd knows of a unit, one property a line.
pub(crate) async fn show(unit: &str, properties: &str) -> Option<String> {
    let property = format!("--property={properties}");
    let shown = Command::new(PROGRAM)
        .args(["show", &property, "--", unit])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    Some(String::from_utf8_lossy(&shown.await.ok()?.stdout).into_owned())
}

/// Awaits requests to systemd while the command holds the signals. `now` says what a signal leaves.
pub(crate) async fn unless_interrupted<T>(
    interrupt: &Interrupt,
    now: String,
    requests: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        outcome = requests => outcome,
        cause = interrupt.received() => Err(anyhow::Error::from(cause).context(now)),
    }
}

async fn call(command: &mut Command, verb: &str) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match output.await {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("systemctl was not found: without systemd, start `schedctl run` in another way")
        }
        Err(error) => return Err(error).context("cannot run systemctl"),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "systemctl {verb} failed: {}",
        brief(&stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};
    use tokio::signal::unix::SignalKind;

    use super::*;
    use crate::exit::Exit;
    use crate::interrupt::Interrupted;
    use crate::output::Printer;
    use schedctl_args::args::Format;

    /// With a signal that no other test of this process listens for, and a program that takes as long
    /// as a scheduler that does not attach.
    #[tokio::test]
    async fn a_signal_is_heard_while_systemd_is_busy() {
        let interrupt = Interrupt::on(Interrupted::Terminate, SignalKind::user_defined2()).unwrap();
        let _hold = interrupt.hold();
        let mut slow = Command::new("sleep");
        let slow = call(slow.arg("1000"), "start");
        let signal = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            kill_process(getpid(), Signal::USR2).unwrap();
        };
        let now = "systemd goes on".to_owned();
        let (outcome, ()) = tokio::join!(unless_interrupted(&interrupt, now, slow), signal);
        let error = outcome.unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "systemd goes on: interrupted by SIGTERM"
        );
        let exit = Printer::new(Format::Text).error(&error);
        assert_eq!(exit, Exit::Signal(Interrupted::Terminate));
        assert_eq!(exit.code(), 143);
    }

    #[tokio::test]
    async fn what_systemctl_says_is_in_the_error() {
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo 'no such unit' >&2; exit 5"]);
        let error = call(&mut failing, "start").await.unwrap_err();
        assert_eq!(error.to_string(), "systemctl start failed: no such unit");
        let error = call(&mut Command::new("./none"), "start")
            .await
            .unwrap_err();
        assert!(error.to_string().contains("was not found"), "{error}");
    }
}
