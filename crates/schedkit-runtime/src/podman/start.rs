//! When the latest start of a container was, by the present clock: the clock may have been set since.
//!
//! Called by `output`, for which the lines of the log before it are those of earlier starts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::inspected::Inspected;
use crate::container::ContainerState;

/// Of the kernel's user interface, on all architectures that schedctl is built for.
const TICKS_PER_SECOND: u64 = 100;

/// `None` if it is unknown: after a reboot there is no file of the process's number.
pub(super) fn latest(inspected: &Inspected) -> Option<Timestamp> {
    let Inspected {
        state,
        finished,
        pid_file,
        ..
    } = inspected;
    let created = created_at(pid_file.as_deref()?)?;
    match state {
        // The clock was set back since, or set forward.
        ContainerState::Running { pid, .. } => {
            Some(process_start(*pid).map_or(created, |start| start.min(created)))
        }
        // It was set back while the process ran: which lines are of this start is unknown.
        _ if finished
            .is_some_and(|finished| finished > Timestamp::UNIX_EPOCH && finished < created) =>
        {
            None
        }
        _ => Some(created),
    }
}

/// When the process was created, by the clock of that moment.
fn created_at(pid_file: &Path) -> Option<Timestamp> {
    let written = fs::metadata(pid_file).ok()?.modified().ok()?;
    Timestamp::try_from(written).ok()
}

/// When the process was created, by the present clock.
fn process_start(pid: u32) -> Option<Timestamp> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let age = seconds_up(&uptime)?.checked_sub(start_after_boot(&stat)?)?;
    Timestamp::now().checked_sub(age).ok()
}

/// `/proc/uptime` begins with the seconds since the boot.
fn seconds_up(uptime: &str) -> Option<Duration> {
    let seconds = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// `/proc/PID/stat`: the name in parentheses, which may have any character, then the state, and the
/// start as the twentieth field from there.
fn start_after_boot(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let ticks: u64 = rest.split_whitespace().nth(19)?.parse().ok()?;
    Some(Duration::from_millis(
        ticks.checked_mul(1000 / TICKS_PER_SECOND)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_read_whatever_its_name_is() {
        let fields = "S 1 1 1 0 -1 4194560 9 0 0 0 0 0 0 0 20 0 1 0 1234 5000 1";
        for name in ["scx", "a) R 7 (b"] {
            let start = start_after_boot(&format!("77 ({name}) {fields}")).unwrap();
            assert_eq!(start, Duration::from_millis(12_340), "{name}");
        }
        for stat in ["", "77 (scx", "77 (scx) S 1", "77 (scx) S x"] {
            assert_eq!(start_after_boot(stat), None, "{stat}");
        }
        let up = Some(Duration::from_millis(12_500));
        assert_eq!(seconds_up("12.50 3.00\n"), up);
        for uptime in ["", "x", "-1 0", "1e99"] {
            assert_eq!(seconds_up(uptime), None, "{uptime}");
        }
    }

    #[test]
    fn this_process_has_started_before_now() {
        let start = process_start(std::process::id()).unwrap();
        assert!(start < Timestamp::now(), "{start}");
        assert_eq!(process_start(u32::MAX), None);
    }

    #[test]
    fn a_process_that_ended_before_it_began_has_an_unknown_start() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        fs::write(&pid_file, "").unwrap();
        let exited = |finished: &str| {
            let state = format!(r#"{{"Status":"exited","FinishedAt":"{finished}"}}"#);
            let text = format!(r#"{{"State":{state},"PidFile":{pid_file:?}}}"#);
            latest(&super::super::inspected::parse(&text).unwrap())
        };
        assert_eq!(exited("2001-01-01T00:00:00Z"), None);
        let created = created_at(&pid_file);
        assert!(created.is_some());
        assert_eq!(exited("2099-01-01T00:00:00Z"), created);
        // Go's zero time: it is not known.
        assert_eq!(exited("0001-01-01T00:00:00Z"), created);
        assert_eq!(exited(""), created);
    }
}
