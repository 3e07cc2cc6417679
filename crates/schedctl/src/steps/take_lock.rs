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
    match command_line(&command) {
        Some(command) => {
            format!("waiting for another schedctl (pid {pid}, `{command}`) to finish")
        }
        None => format!("waiting for another schedctl (pid {pid}) to finish"),
    }
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
}
