//! A container's process: started, listened to, ended. Called by the driver.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::api::containers::{Container, DeleteContainerRequest, GetContainerRequest};
use super::api::snapshots::MountsRequest;
use super::api::task::{Process, Status};
use super::api::tasks::{
    CreateTaskRequest, DeleteTaskRequest, GetRequest, KillRequest, ResumeTaskRequest, StartRequest,
    WaitRequest,
};
use super::fault::{Absence, Fault};
use super::listing::exit_code;
use super::log::Log;
use super::session::Session;
use super::shim;
use super::unpack;
use crate::container::{ContainerId, ExitCode};
use crate::driver::{After, DriverError, Piece, Runtime, Stream, Until};

const SIGKILL: u32 = 9;
const SIGTERM: u32 = 15;
/// For a process to be gone after SIGKILL; one that waits for a disk is not at once.
const DEATH: Duration = Duration::from_secs(30);
/// Between two looks at a file that grows.
const LOOK: Duration = Duration::from_millis(100);
/// For the last words of a process that is gone.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// One wait of many for an end that nobody knows.
const WAIT: Duration = Duration::from_secs(3600);
/// For containerd to be done with a task that it deletes for somebody who was cut off; it refuses
/// others meanwhile.
const OTHERS: Duration = Duration::from_secs(5);
/// For containerd to be back after a restart.
const RESTART: Duration = Duration::from_secs(60);

/// One container, and what it takes to deal with its process.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) session: &'a Session,
    pub(super) id: &'a ContainerId,
    pub(super) log: Log,
}

impl Task<'_> {
    /// Starts the process.
    pub(super) async fn start(&self) -> Result<(), DriverError> {
        if self.ready().await? == Status::Running {
            return Ok(());
        }
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let started = self
            .session
            .ask(tasks.start(StartRequest { container_id }))
            .await;
        if let Err(fault) = started {
            // It cannot be started a second time; a task that stays would be in the way.
            let _ = self.forget().await;
            return Err(fault.error);
        }
        Ok(())
    }

    /// There is a process that waits to be started, with an empty log, or one that runs. One that
    /// ended before is forgotten.
    pub(super) async fn ready(&self) -> Result<Status, DriverError> {
        if let Some(old) = self.process().await? {
            match old.status() {
                Status::Created => return Ok(Status::Created),
                Status::Running | Status::Paused | Status::Pausing => return Ok(Status::Running),
                Status::Stopped | Status::Unknown => self.forget().await?,
            }
        }
        let container = self.container().await?.ok_or_else(|| self.no_container())?;
        self.log.begin()?;
        let request = MountsRequest {
            snapshotter: container.snapshotter,
            key: container.snapshot_key,
        };
        let mut snapshots = self.session.snapshots();
        let rootfs = self.session.ask(snapshots.mounts(request)).await?.mounts;
        let request = CreateTaskRequest {
            container_id: self.id.to_string(),
            rootfs,
            stdout: self.log.words(),
            stderr: self.log.complaints(),
        };
        let mut tasks = self.session.tasks();
        self.session.ask(tasks.create(request)).await?;
        Ok(Status::Created)
    }

    /// Gives what was written, and how it ended if it has.
    pub(super) async fn output(
        &self,
        until: Until,
        proc: &Path,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let mut take = |bytes: &[u8]| {
            let stream = Stream::Out;
            take(Piece { stream, bytes });
        };
        self.container().await?.ok_or_else(|| self.no_container())?;
        let Some(process) = self.process().await? else {
            self.log.read(0, &mut take)?;
            return Ok(None);
        };
        let ended = process.status() == Status::Stopped;
        let mut place = 0;
        let code = match (ended, until) {
            (true, _) => Some(exit_code(process.exit_status)),
            (false, Until::Now) => {
                self.log.read(place, &mut take)?;
                return Ok(None);
            }
            (false, Until::Exit) => self.follow(&mut place, &mut take).await?,
        };
        let end = Instant::now() + LAST_WORDS;
        while self.log.is_written(proc) && Instant::now() < end {
            place = self.log.read(place, &mut take)?;
            sleep(LOOK).await;
        }
        self.log.read(place, &mut take)?;
        Ok(code)
    }

    async fn follow(
        &self,
        place: &mut u64,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<ExitCode>, DriverError> {
        loop {
            let exit = self.exit(WAIT);
            tokio::pin!(exit);
            let exited = loop {
                *place = self.log.read(*place, take)?;
                if let Ok(exited) = timeout(LOOK, &mut exit).await {
                    break exited;
                }
            };
            match exited.map_err(|fault| fault.error) {
                Ok(code) => return Ok(code),
                Err(DriverError::TooSlow { .. }) => {}
                // A scheduler outlives a containerd that is restarted.
                Err(DriverError::Cut { .. }) => self.is_back().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns once containerd answers again.
    async fn is_back(&self) -> Result<(), DriverError> {
        let end = Instant::now() + RESTART;
        loop {
            match self.process().await {
                Err(DriverError::Cut { .. }) if Instant::now() < end => sleep(LOOK).await,
                answer => return answer.map(drop),
            }
        }
    }

    /// Ends the process, and with `After::Remove` all that there is of the container.
    pub(super) async fn end(&self, grace: Duration, after: After) -> Result<(), DriverError> {
        let container = self.container().await?;
        if let Some(process) = self.process().await? {
            self.stop(&process, grace).await?;
        }
        match after {
            // A task that has ended stays: it is containerd's only memory of how.
            After::Keep => Ok(()),
            After::Remove => self.remove(container).await,
        }
    }

    async fn stop(&self, process: &Process, grace: Duration) -> Result<(), DriverError> {
        match process.status() {
            Status::Stopped => return Ok(()),
            Status::Running => {}
            Status::Paused | Status::Pausing => self.resume().await?,
            // What has not begun cannot be asked to end.
            Status::Created | Status::Unknown => return self.kill_and_wait().await,
        }
        self.kill(SIGTERM, false).await?;
        match self.exit(grace).await {
            Ok(_) => Ok(()),
            Err(fault) if matches!(fault.error, DriverError::TooSlow { .. }) => {
                self.kill_and_wait().await
            }
            Err(fault) => Err(fault.error),
        }
    }

    async fn kill_and_wait(&self) -> Result<(), DriverError> {
        self.kill(SIGKILL, true).await?;
        self.exit(DEATH).await?;
        Ok(())
    }

    async fn remove(&self, container: Option<Container>) -> Result<(), DriverError> {
        if self.process().await?.is_none() {
            shim::end_forgotten(self.id);
        }
        self.forget().await?;
        let id = self.id.to_string();
        let mut containers = self.session.containers();
        let deleted = self
            .session
            .ask(containers.delete(DeleteContainerRequest { id }))
            .await;
        deleted.if_there()?;
        if let Some(container) = container.filter(|container| !container.snapshotter.is_empty()) {
            let Container {
                snapshotter,
                snapshot_key,
                ..
            } = container;
            unpack::remove(self.session, &snapshotter, &snapshot_key).await?;
        }
        self.log.remove()
    }

    async fn container(&self) -> Result<Option<Container>, DriverError> {
        let id = self.id.to_string();
        let mut containers = self.session.containers();
        let answer = self
            .session
            .ask(containers.get(GetContainerRequest { id }))
            .await;
        Ok(answer.if_there()?.and_then(|answer| answer.container))
    }

    async fn process(&self) -> Result<Option<Process>, DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let answer = self
            .session
            .ask(tasks.get(GetRequest { container_id }))
            .await;
        Ok(answer.if_there()?.and_then(|answer| answer.process))
    }

    /// Deletes a task; one that lives is killed first. That there is none is fine.
    async fn forget(&self) -> Result<(), DriverError> {
        let process = self.process().await?;
        if process.is_some_and(|process| process.status() != Status::Stopped) {
            self.kill_and_wait().await?;
        }
        let end = Instant::now() + OTHERS;
        loop {
            match self.delete().await {
                Err(DriverError::Refused { .. }) if Instant::now() < end => sleep(LOOK).await,
                deleted => return deleted,
            }
        }
    }

    async fn delete(&self) -> Result<(), DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let deleted = self
            .session
            .ask(tasks.delete(DeleteTaskRequest { container_id }))
            .await;
        deleted.if_there().map(drop)
    }

    /// That a process has ended meanwhile is what was wanted.
    async fn kill(&self, signal: u32, all: bool) -> Result<(), DriverError> {
        let request = KillRequest {
            container_id: self.id.to_string(),
            signal,
            all,
        };
        let mut tasks = self.session.tasks();
        self.session
            .ask(tasks.kill(request))
            .await
            .if_there()
            .map(drop)
    }

    async fn resume(&self) -> Result<(), DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let resumed = self
            .session
            .ask(tasks.resume(ResumeTaskRequest { container_id }))
            .await;
        resumed.if_there().map(drop)
    }

    /// Waits for the end; nothing, when there is nothing left to tell of it.
    async fn exit(&self, limit: Duration) -> Result<Option<ExitCode>, Fault> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let waited = tasks.wait(WaitRequest { container_id });
        match self.session.ask_for(limit, waited).await {
            Ok(answer) => Ok(Some(exit_code(answer.exit_status))),
            Err(fault) if fault.kind == super::fault::Kind::Missing => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn no_container(&self) -> DriverError {
        DriverError::NoContainer {
            runtime: Runtime::Containerd,
            id: self.id.to_string(),
        }
    }
}
