//! Containers as containerd shows them, in our words. Pure but for a look at `/proc`; called by
//! the driver's `list`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::api::containers::{Container as Theirs, ListContainersRequest};
use super::api::task::{Process, Status};
use super::api::tasks::ListTasksRequest;
use super::session::Session;
use crate::container::{Container, ContainerId, ExitCode, State};
use crate::driver::DriverError;
use crate::record::Record;

/// What the kernel counts process times in, on every machine that we run on.
const TICKS: u64 = 100;

/// Containers with their tasks, the oldest first.
pub(super) async fn ask(session: &Session) -> Result<Vec<(Theirs, Option<Process>)>, DriverError> {
    let mut containers = session.containers();
    let listed = session
        .ask(containers.list(ListContainersRequest::default()))
        .await?;
    let mut tasks = session.tasks();
    let running = session.ask(tasks.list(ListTasksRequest::default())).await?;
    let running = running
        .tasks
        .into_iter()
        .map(|task| (task.id.clone(), task));
    let mut running: HashMap<_, _> = running.collect();
    let mut containers = listed.containers;
    containers.sort_by_key(|container| {
        let made = container.created_at.map(|made| (made.seconds, made.nanos));
        (Reverse(made.is_none()), made, container.id.clone())
    });
    let join = |container: Theirs| {
        let task = running.remove(&container.id);
        (container, task)
    };
    Ok(containers.into_iter().map(join).collect())
}

/// In our words. `proc` is where processes are seen.
pub(super) fn container(theirs: Theirs, task: Option<Process>, proc: &Path) -> Container {
    let labels: BTreeMap<_, _> = theirs.labels.into_iter().collect();
    Container {
        name: theirs.id.clone(),
        id: ContainerId::new(theirs.id),
        record: Record::from_labels(&labels),
        image: theirs.image,
        image_id: None,
        state: state(task, |pid| started(proc, pid)),
    }
}

/// A container without a task was never started, or the machine was since.
pub(super) fn state(task: Option<Process>, started: impl Fn(u32) -> Option<Timestamp>) -> State {
    let Some(task) = task else {
        return State::Created;
    };
    let pid = task.pid;
    match task.status() {
        Status::Created => State::Created,
        Status::Running => State::Running {
            pid,
            started: started(pid),
        },
        Status::Stopped => State::Exited(exit_code(task.exit_status)),
        Status::Paused => State::Other("paused".to_owned()),
        Status::Pausing => State::Other("pausing".to_owned()),
        Status::Unknown => State::Other("unknown".to_owned()),
    }
}

/// containerd gives 128 and the signal's number itself.
pub(super) fn exit_code(status: u32) -> ExitCode {
    ExitCode(i32::try_from(status).unwrap_or(i32::MAX))
}

/// Since when a process runs, to the second.
pub(super) fn started(proc: &Path, pid: u32) -> Option<Timestamp> {
    let stat = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    let boot = fs::read_to_string(proc.join("stat")).ok()?;
    parse_started(&stat, &boot)
}

fn parse_started(stat: &str, boot: &str) -> Option<Timestamp> {
    // The name is in parentheses and may contain anything; the start is the 22nd field.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let booted = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let booted = Timestamp::from_second(booted.trim().parse().ok()?).ok()?;
    let since = SignedDuration::from_secs(i64::try_from(ticks / TICKS).ok()?);
    booted.checked_add(since).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_theirs_is_one_of_ours() {
        let of = |status: Status| {
            let task = Process {
                pid: 7,
                status: status.into(),
                exit_status: 143,
                ..Process::default()
            };
            state(Some(task), |_| None)
        };
        assert_eq!(state(None, |_| None), State::Created);
        assert_eq!(of(Status::Created), State::Created);
        let running = State::Running {
            pid: 7,
            started: None,
        };
        assert_eq!(of(Status::Running), running);
        assert_eq!(of(Status::Stopped), State::Exited(ExitCode(143)));
        assert_eq!(of(Status::Paused), State::Other("paused".to_owned()));
        let strange = Process {
            status: 99,
            ..Process::default()
        };
        let unknown = State::Other("unknown".to_owned());
        assert_eq!(state(Some(strange), |_| None), unknown);
    }

    #[test]
    fn a_process_tells_its_start_whatever_its_name_is() {
        let fields = (3..22).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let stat = format!("7 (a) b) {fields} 4250 23");
        let started = parse_started(&stat, "cpu 1\nbtime 1000\n").unwrap();
        assert_eq!(started.as_second(), 1042);
        assert_eq!(parse_started("", "btime 1"), None);
        assert_eq!(parse_started(&stat, ""), None);
    }
}
