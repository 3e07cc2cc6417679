//! Starts and ends a container's process and reads its output. Called by the driver.

use std::path::Path;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::api::containers::{Container, DeleteContainerRequest, GetContainerRequest};
use super::api::snapshots::MountsRequest;
use super::api::task::{Process, Status};
use super::api::tasks::{
    CreateTaskRequest, DeleteTaskRequest, GetRequest, KillRequest, ResumeTaskRequest, StartRequest,
    WaitRequest,
};
use super::call_error::{CallError, CallErrorKind, CallResult};
use super::listing::exit_code;
use super::log::{LineTimes, Log, LogReader};
use super::log_writer;
use super::session::Session;
use super::shim;
use super::unpack;
use crate::container::{ContainerId, ExitCode};
use crate::driver::{After, DriverError, OutputChunk, Runtime, Until};
use crate::stop_signal::StopSignal;

const SIGKILL: u32 = 9;
/// The label with the image's STOPSIGNAL.
pub(super) const STOP_SIGNAL: &str = "io.containerd.image.config.stop-signal";
/// For a process to exit after SIGKILL; one that waits for a disk takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// For the log writer to write the final output of a process that has exited, while it makes no
/// progress, and in all: a process of the scheduler may go on and write for ever.
const FINAL_OUTPUT: Duration = Duration::from_secs(2);
const ALL_FINAL_OUTPUT: Duration = Duration::from_secs(60);
/// For one call that waits for an exit; it is repeated.
const WAIT_CALL: Duration = Duration::from_secs(3600);
/// For containerd to finish a deletion for a client that disconnected; it refuses others meanwhile.
const OTHER_DELETION: Duration = Duration::from_secs(5);
/// For containerd to restart.
const RESTART: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) session: &'a Session,
    pub(super) id: &'a ContainerId,
    pub(super) log: Log,
    /// The program that writes the log.
    pub(super) log_writer: &'a Path,
}

impl Task<'_> {
    pub(super) async fn start(&self) -> Result<(), DriverError> {
        if self.prepare().await? == Status::Running {
            return Ok(());
        }
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let started = self
            .session
            .call(tasks.start(StartRequest { container_id }))
            .await;
        if let Err(error) = started {
            // A task cannot be started a second time, so it is deleted.
            let _ = self.delete_task().await;
            return Err(error.driver_error);
        }
        Ok(())
    }

    /// Ensures that there is a task, created with an empty log or running. One that has exited is
    /// replaced.
    pub(super) async fn prepare(&self) -> Result<Status, DriverError> {
        if let Some(old) = self.process().await? {
            match old.status() {
                Status::Created => return Ok(Status::Created),
                Status::Running | Status::Paused | Status::Pausing => return Ok(Status::Running),
                Status::Stopped | Status::Unknown => self.delete_task().await?,
            }
        }
        let container = self.container().await?.ok_or_else(|| self.no_container())?;
        self.log.reset()?;
        let request = MountsRequest {
            snapshotter: container.snapshotter,
            key: container.snapshot_key,
        };
        let mut snapshots = self.session.snapshots();
        let rootfs = self.session.call(snapshots.mounts(request)).await?.mounts;
        let output = log_writer::address(self.log_writer, self.log.path());
        let request = CreateTaskRequest {
            container_id: self.id.to_string(),
            rootfs,
            stdout: output.clone(),
            stderr: output,
        };
        let mut tasks = self.session.tasks();
        self.session.call(tasks.create(request)).await?;
        if !self.log.is_written() {
            // Its output would stop it.
            self.delete_task().await?;
            let program = self.log_writer.display();
            let message = format!("{program}, which writes its log, ended at once");
            return Err(self.session.refused(message));
        }
        Ok(Status::Created)
    }

    /// Passes on the output and returns the exit code if the process has exited.
    pub(super) async fn output(
        &self,
        until: Until,
        times: LineTimes,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        self.container().await?.ok_or_else(|| self.no_container())?;
        let mut reader = self.log.reader(times);
        if times == LineTimes::Shown
            && !reader.has_times().map_err(|error| self.log.failed(error))?
        {
            let message = "an older schedctl started it, and its log has no times";
            return Err(self.session.refused(message.to_owned()));
        }
        let Some(process) = self.process().await? else {
            self.read_all(&mut reader, on_output).await?;
            return Ok(None);
        };
        let ended = process.status() == Status::Stopped;
        let code = match (ended, until) {
            (true, _) => Some(exit_code(process.exit_status)),
            (false, Until::Now) => {
                self.read_all(&mut reader, on_output).await?;
                return Ok(None);
            }
            (false, Until::Exit) => self.follow(&mut reader, on_output).await?,
        };
        let limit = Instant::now() + ALL_FINAL_OUTPUT;
        let mut end = Instant::now() + FINAL_OUTPUT;
        while self.log.is_written() && Instant::now() < end.min(limit) {
            if self.read_all(&mut reader, on_output).await? {
                end = Instant::now() + FINAL_OUTPUT;
            }
            sleep(POLL_INTERVAL).await;
        }
        self.read_all(&mut reader, on_output).await?;
        Ok(code)
    }

    /// Up to the present end. Whether there was anything to read.
    async fn read_all(
        &self,
        reader: &mut LogReader,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<bool, DriverError> {
        let mut found = false;
        while self.read(reader, on_output)? {
            found = true;
            yield_now().await;
        }
        Ok(found)
    }

    /// Whether there was anything to read.
    fn read(
        &self,
        reader: &mut LogReader,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<bool, DriverError> {
        let found = reader.read(on_output);
        found.map_err(|error| self.log.failed(error))
    }

    async fn follow(
        &self,
        reader: &mut LogReader,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        loop {
            let exit = self.exit(WAIT_CALL);
            tokio::pin!(exit);
            let exited = loop {
                // While there is more, it is read at once: the log writer keeps only so much.
                yield_now().await;
                let pause = match self.read(reader, on_output)? {
                    true => Duration::ZERO,
                    false => POLL_INTERVAL,
                };
                if let Ok(exited) = timeout(pause, &mut exit).await {
                    break exited;
                }
            };
            match exited.map_err(|error| error.driver_error) {
                Ok(code) => return Ok(code),
                Err(DriverError::Timeout { .. }) => {}
                // A scheduler keeps running while containerd restarts.
                Err(DriverError::Disconnected { .. }) => self.wait_for_containerd().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns once containerd responds again.
    async fn wait_for_containerd(&self) -> Result<(), DriverError> {
        let end = Instant::now() + RESTART;
        loop {
            match self.process().await {
                Err(DriverError::Disconnected { .. }) if Instant::now() < end => {
                    sleep(POLL_INTERVAL).await;
                }
                response => return response.map(drop),
            }
        }
    }

    /// Ends the process; with `After::Remove` also removes the container, its snapshot and its log.
    pub(super) async fn end(&self, grace: Duration, after: After) -> Result<(), DriverError> {
        let container = self.container().await?;
        if let Some(process) = self.process().await? {
            let signal = stop_signal(container.as_ref());
            self.stop(&process, signal, grace).await?;
        }
        match after {
            // The task stays: it has the exit code.
            After::Keep => Ok(()),
            After::Remove => self.remove(container).await,
        }
    }

    async fn stop(
        &self,
        process: &Process,
        signal: StopSignal,
        grace: Duration,
    ) -> Result<(), DriverError> {
        match process.status() {
            Status::Stopped => return Ok(()),
            Status::Running => {}
            Status::Paused | Status::Pausing => self.resume().await?,
            // A process that was not started does not handle a signal.
            Status::Created | Status::Unknown => return self.kill_and_wait().await,
        }
        self.kill(signal.number(), false).await?;
        match self.exit(grace).await {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.driver_error, DriverError::Timeout { .. }) => {
                self.kill_and_wait().await
            }
            Err(error) => Err(error.driver_error),
        }
    }

    async fn kill_and_wait(&self) -> Result<(), DriverError> {
        self.kill(SIGKILL, true).await?;
        self.exit(KILL_TIMEOUT).await?;
        Ok(())
    }

    async fn remove(&self, container: Option<Container>) -> Result<(), DriverError> {
        if self.process().await?.is_none() {
            shim::kill_orphaned(self.id);
        }
        self.delete_task().await?;
        let id = self.id.to_string();
        let mut containers = self.session.containers();
        let deleted = self
            .session
            .call(containers.delete(DeleteContainerRequest { id }))
            .await;
        deleted.if_found()?;
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
        let response = self
            .session
            .call(containers.get(GetContainerRequest { id }))
            .await;
        Ok(response.if_found()?.and_then(|response| response.container))
    }

    async fn process(&self) -> Result<Option<Process>, DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let response = self
            .session
            .call(tasks.get(GetRequest { container_id }))
            .await;
        Ok(response.if_found()?.and_then(|response| response.process))
    }

    /// Kills the process if it runs and deletes the task. A missing task is no error.
    async fn delete_task(&self) -> Result<(), DriverError> {
        let process = self.process().await?;
        if process.is_some_and(|process| process.status() != Status::Stopped) {
            self.kill_and_wait().await?;
        }
        let end = Instant::now() + OTHER_DELETION;
        loop {
            match self.try_delete_task().await {
                Err(DriverError::Refused { .. }) if Instant::now() < end => {
                    sleep(POLL_INTERVAL).await;
                }
                deleted => return deleted,
            }
        }
    }

    async fn try_delete_task(&self) -> Result<(), DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let deleted = self
            .session
            .call(tasks.delete(DeleteTaskRequest { container_id }))
            .await;
        deleted.if_found().map(drop)
    }

    /// A process that has exited meanwhile is no error.
    async fn kill(&self, signal: u32, all: bool) -> Result<(), DriverError> {
        let request = KillRequest {
            container_id: self.id.to_string(),
            signal,
            all,
        };
        let mut tasks = self.session.tasks();
        self.session
            .call(tasks.kill(request))
            .await
            .if_found()
            .map(drop)
    }

    async fn resume(&self) -> Result<(), DriverError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let resumed = self
            .session
            .call(tasks.resume(ResumeTaskRequest { container_id }))
            .await;
        resumed.if_found().map(drop)
    }

    /// Waits for the exit; `None` when the task does not exist any more.
    async fn exit(&self, limit: Duration) -> Result<Option<ExitCode>, CallError> {
        let container_id = self.id.to_string();
        let mut tasks = self.session.tasks();
        let waited = tasks.wait(WaitRequest { container_id });
        match self.session.call_within(limit, waited).await {
            Ok(response) => Ok(Some(exit_code(response.exit_status))),
            Err(error) if error.kind == CallErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn no_container(&self) -> DriverError {
        DriverError::NoContainer {
            runtime: Runtime::Containerd,
            id: self.id.to_string(),
        }
    }
}

/// SIGTERM for containers of the older schedctl.
fn stop_signal(container: Option<&Container>) -> StopSignal {
    let label = container.and_then(|container| container.labels.get(STOP_SIGNAL));
    label.map_or_else(StopSignal::default, |signal| StopSignal::parse(signal))
}
