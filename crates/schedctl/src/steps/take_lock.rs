//! Takes the lock of the commands that change something, and tells whom it waits for.

use std::fs;
use std::pin::pin;
use std::time::Duration;

use schedkit_core::sanitize;
use tokio::time::timeout;

use crate::state_dir::{Lock, StateDir, StateError};

/// A short wait is not worth a message.
const TELL_AFTER: Duration = Duration::from_secs(1);

pub(crate) async fn take_lock(state: &StateDir) -> Result<Lock, StateError> {
    let mut taking = pin!(state.lock());
    if let Ok(lock) = timeout(TELL_AFTER, &mut taking).await {
        return lock;
    }
    tracing::warn!("{}", message(state.lock_holder()));
    taking.await
}

fn message(holder: Option<u32>) -> String {
    let Some(pid) = holder else {
        return "waiting for another schedctl to finish".to_owned();
    };
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let name = match command_line(&command) {
        Some(command) => format!("another schedctl (pid {pid}, `{command}`)"),
        None => format!("another schedctl (pid {pid})"),
    };
    match is_suspended(pid) {
        true => format!("waiting for {name}, which is suspended: `kill -CONT {pid}` continues it"),
        false => format!("waiting for {name} to finish"),
    }
}

/// Whether a process was stopped by Ctrl-Z, or by a signal that does the same.
pub(crate) fn is_suspended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may have parentheses in it.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with('T'))
}

/// The program without its folder, then its arguments.
fn command_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let (program, args) = text.split_once('\0')?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let line = format!("{program} {}", args.replace('\0', " "));
    Some(sanitize::brief(&line))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn whoever_is_waited_for_is_named_with_its_command() {
        let line = command_line(b"/usr/bin/schedctl\0switch\0scx_lavd\0");
        assert_eq!(line.unwrap(), "schedctl switch scx_lavd");
        let hostile = command_line(b"x\0\x1b[2J\0").unwrap();
        assert!(!hostile.contains('\x1b'), "{hostile:?}");
        assert_eq!(command_line(b""), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_lock_names_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        assert_eq!(state.lock_holder(), None);
        let lock = take_lock(&state).await.unwrap();
        assert_eq!(state.lock_holder(), Some(std::process::id()));
        let message = message(state.lock_holder());
        let pid = format!("(pid {}, `schedctl-", std::process::id());
        assert!(message.contains(&pid), "{message}");
        let waiting = async {
            tokio::time::sleep(2 * TELL_AFTER).await;
            drop(lock);
        };
        let (taken, ()) = tokio::join!(take_lock(&state), waiting);
        taken.unwrap();
    }

    #[test]
    fn a_suspended_holder_is_named_with_the_way_to_continue_it() {
        let mut sleeping = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = sleeping.id();
        let until = |part: &str| {
            let pause = || std::thread::sleep(Duration::from_millis(10));
            let mut texts = (0..500).map(|_| {
                pause();
                message(Some(pid))
            });
            texts.find(|text| text.contains(part)).unwrap_or_default()
        };
        let running = until("sleep 1000");
        let raw = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(raw, Signal::STOP).unwrap();
        let suspended = until("suspended");
        sleeping.kill().unwrap();
        sleeping.wait().unwrap();
        assert!(running.ends_with("`sleep 1000`) to finish"), "{running}");
        let expected = format!("which is suspended: `kill -CONT {pid}` continues it");
        assert!(suspended.ends_with(&expected), "{suspended}");
    }
}
