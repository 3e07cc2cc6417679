//! Converts containerd's containers and tasks. Pure, except for reading `/proc`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::api::containers::{Container as ApiContainer, ListContainersRequest};
use super::api::task::{Process, Status};
use super::api::tasks::ListTasksRequest;
use super::session::Session;
use crate::container::{Container, ContainerId, ContainerState, ExitCode};
use crate::driver::DriverError;
use crate::ownership::{Described, Ownership};
use crate::record::Record;

/// USER_HZ, the unit of process times in `/proc`.
const TICKS_PER_SECOND: u64 = 100;

/// Containers with their tasks, the oldest first.
pub(super) async fn list(
    session: &Session,
) -> Result<Vec<(ApiContainer, Option<Process>)>, DriverError> {
    let mut containers = session.containers();
    let listed = session
        .call(containers.list(ListContainersRequest::default()))
        .await?;
    let mut tasks = session.tasks();
    let running = session
        .call(tasks.list(ListTasksRequest::default()))
        .await?;
    let running = running
        .tasks
        .into_iter()
        .map(|task| (task.id.clone(), task));
    let mut running: HashMap<_, _> = running.collect();
    let mut containers = listed.containers;
    containers.sort_by_key(|container| {
        let created = container
            .created_at
            .map(|created| (created.seconds, created.nanos));
        (Reverse(created.is_none()), created, container.id.clone())
    });
    let join = |container: ApiContainer| {
        let task = running.remove(&container.id);
        (container, task)
    };
    Ok(containers.into_iter().map(join).collect())
}

/// `proc` is the `/proc` of the host. Every container in our namespace is schedctl's; those of the
/// older one have no labels.
pub(super) fn container(from: ApiContainer, task: Option<Process>, proc: &Path) -> Container {
    let labels: BTreeMap<_, _> = from.labels.into_iter().collect();
    let described = Described {
        name: &from.id,
        image: &from.image,
        image_hash: Some(from.image.as_str()).filter(|image| image.contains('@')),
        labels: &labels,
    };
    let ownership = described.ownership().unwrap_or(Ownership::Unproven);
    Container {
        name: from.id.clone(),
        id: ContainerId::new(from.id),
        ownership,
        record: match ownership {
            Ownership::Ours => Record::from_labels(&labels),
            Ownership::Unproven => Record::default(),
        },
        image: from.image,
        image_id: None,
        state: state(task, |pid| started(proc, pid)),
    }
}

/// A container without a task was never started, or not since the machine booted.
pub(super) fn state(
    task: Option<Process>,
    started: impl Fn(u32) -> Option<Timestamp>,
) -> ContainerState {
    let Some(task) = task else {
        return ContainerState::Created;
    };
    let pid = task.pid;
    match task.status() {
        Status::Created => ContainerState::Created,
        Status::Running => ContainerState::Running {
            pid,
            started: started(pid),
        },
        Status::Stopped => ContainerState::Exited(exit_code(task.exit_status)),
        Status::Paused => ContainerState::Other("paused".to_owned()),
        Status::Pausing => ContainerState::Other("pausing".to_owned()),
        Status::Unknown => ContainerState::Other("unknown".to_owned()),
    }
}

/// containerd's value is 128 plus the number of a signal already.
pub(super) fn exit_code(status: u32) -> ExitCode {
    ExitCode(i32::try_from(status).unwrap_or(i32::MAX))
}

/// When a process started, to the second.
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
    let since = SignedDuration::from_secs(i64::try_from(ticks / TICKS_PER_SECOND).ok()?);
    booted.checked_add(since).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_count_only_where_they_name_the_container_and_its_image() {
        let launch = crate::record::tests::launch("scx_lab", Vec::new(), "asked");
        let (id, image) = (
            "schedkit-scx_lab-0a1b2c3d",
            launch.image().image().to_string(),
        );
        let listed = |id: &str, image: &str, labels: BTreeMap<String, String>| {
            let from = ApiContainer {
                id: id.to_owned(),
                image: image.to_owned(),
                labels: labels.into_iter().collect(),
                ..ApiContainer::default()
            };
            let listed = container(from, None, Path::new("/none"));
            (listed.ownership, listed.record.scheduler)
        };
        let labels = launch.labels(id, &image);
        let ours = (Ownership::Ours, Some("scx_lab".to_owned()));
        assert_eq!(listed(id, &image, labels.clone()), ours);
        let unproven = (Ownership::Unproven, None);
        assert_eq!(listed("scx_lab", &image, labels.clone()), unproven);
        // `ctr run` gives a container the labels of its image, which cannot have its own digest.
        let forged = launch.labels(id, "a.b/c:1");
        assert_eq!(listed(id, "a.b/c:1", forged), unproven);
        assert_eq!(listed(id, &image, BTreeMap::new()), unproven);
    }

    #[test]
    fn every_task_status_has_a_state() {
        let of = |status: Status| {
            let task = Process {
                pid: 7,
                status: status.into(),
                exit_status: 143,
                ..Process::default()
            };
            state(Some(task), |_| None)
        };
        assert_eq!(state(None, |_| None), ContainerState::Created);
        assert_eq!(of(Status::Created), ContainerState::Created);
        let running = ContainerState::Running {
            pid: 7,
            started: None,
        };
        assert_eq!(of(Status::Running), running);
        assert_eq!(of(Status::Stopped), ContainerState::Exited(ExitCode(143)));
        assert_eq!(
            of(Status::Paused),
            ContainerState::Other("paused".to_owned())
        );
        let unknown_status = Process {
            status: 99,
            ..Process::default()
        };
        let unknown = ContainerState::Other("unknown".to_owned());
        assert_eq!(state(Some(unknown_status), |_| None), unknown);
    }

    #[test]
    fn the_start_is_parsed_whatever_the_name_is() {
        let fields = (3..22).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let stat = format!("7 (a) b) {fields} 4250 23");
        let started = parse_started(&stat, "cpu 1\nbtime 1000\n").unwrap();
        assert_eq!(started.as_second(), 1042);
        assert_eq!(parse_started("", "btime 1"), None);
        assert_eq!(parse_started(&stat, ""), None);
    }
}
