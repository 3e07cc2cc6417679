//! Reads the output of a container's process and its exit code.

use std::time::Duration;

use hyper::Method;
use jiff::Timestamp;
use schedkit_core::sanitize::brief;

use super::Podman;
use super::client::{ApiRequest, RequestTimeout};
use super::frames::{Frames, FramesError};
use super::inspected::{self, Inspected};
use super::response::refused;
use super::start;
use super::target::Target;
use crate::container::{ContainerId, ContainerState, ExitCode};
use crate::driver::{DriverError, OutputChunk, OutputStream, TimedOutput, Until};

const INSPECT_RETRIES: usize = 20;
const INSPECT_DELAY: Duration = Duration::from_millis(50);

/// Whether Podman writes the time of each line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineTimes {
    Hidden,
    Shown,
}

impl TimedOutput for Podman {
    async fn timed_output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        self.read_output(id, until, LineTimes::Shown, on_output)
            .await
    }
}

impl Podman {
    /// As the scheduler wrote it.
    pub(super) async fn plain_output(
        &self,
        id: &ContainerId,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        self.read_output(id, until, LineTimes::Hidden, on_output)
            .await
    }

    /// Passes on the output since the latest start: Podman's log has that of all starts. What was
    /// there before the start is counted and skipped. Podman is not asked for what came after it: it
    /// would leave out everything that is printed after the clock was set back, as NTP may do after a
    /// boot.
    async fn read_output(
        &self,
        id: &ContainerId,
        until: Until,
        times: LineTimes,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<Option<ExitCode>, DriverError> {
        let inspected = self.inspect(id).await?;
        let mut known = self.earlier_output(id, &inspected, times).await?;
        let mut new = known;
        let mut pass_on = |chunk: OutputChunk<'_>| {
            if let Some(chunk) = new.skip(chunk) {
                known.add(chunk);
                on_output(chunk);
            }
        };
        self.read_log(id, None, times, until, &mut pass_on).await?;
        if until == Until::Now {
            return Ok(None);
        }
        let exit = self.exit_code(id, process(&inspected)).await?;
        // Podman stops following a log when the process exits, possibly before its final output has
        // been read. So the rest is read from the whole log.
        let mut rest = |chunk: OutputChunk<'_>| {
            known.skip(chunk).into_iter().for_each(&mut *on_output);
        };
        self.read_log(id, None, times, Until::Now, &mut rest)
            .await?;
        Ok(exit)
    }

    /// How much the log has of earlier starts.
    async fn earlier_output(
        &self,
        id: &ContainerId,
        inspected: &Inspected,
        times: LineTimes,
    ) -> Result<BytesRead, DriverError> {
        let mut earlier = BytesRead::default();
        if let Some(start) = start::latest(inspected) {
            let mut count = |chunk: OutputChunk<'_>| earlier.add(chunk);
            self.read_log(id, Some(start), times, Until::Now, &mut count)
                .await?;
        }
        Ok(earlier)
    }

    async fn read_log(
        &self,
        id: &ContainerId,
        before: Option<Timestamp>,
        times: LineTimes,
        until: Until,
        on_output: &mut dyn FnMut(OutputChunk<'_>),
    ) -> Result<(), DriverError> {
        let target = Target::new(&["containers", id.as_str(), "logs"]);
        let mut target = target.with("stdout", "true").with("stderr", "true");
        if let Some(before) = before {
            target = target.with("until", &before.to_string());
        }
        if times == LineTimes::Shown {
            target = target.with("timestamps", "true");
        }
        // When following, Podman starts its response with the first output.
        let timeout = match until {
            Until::Now => RequestTimeout::Default,
            Until::Exit => {
                target = target.with("follow", "true");
                RequestTimeout::Unlimited
            }
        };
        let attempt = format!("show the output of {}", id.short());
        let request = ApiRequest::new(attempt, Method::GET, target);
        let request = request.about(id).timeout(timeout);
        let mut stream = self.client.stream(request).await?;
        let invalid = |error: FramesError, attempt: &str| refused(attempt, error.to_string());
        let mut frames = Frames::default();
        while let Some(chunk) = stream.next().await? {
            let pushed = frames.push(&chunk, on_output);
            pushed.map_err(|error| invalid(error, stream.attempt()))?;
        }
        frames
            .end()
            .map_err(|error| invalid(error, stream.attempt()))
    }

    /// Podman reads the process's cgroup for this, and fails if the process exits in between: then
    /// the answer is another one a moment later.
    pub(super) async fn inspect(&self, id: &ContainerId) -> Result<Inspected, DriverError> {
        for _ in 0..INSPECT_RETRIES {
            match self.inspect_once(id).await {
                Err(DriverError::Refused { message, .. })
                    if message.contains("no such process") =>
                {
                    tokio::time::sleep(INSPECT_DELAY).await;
                }
                result => return result,
            }
        }
        self.inspect_once(id).await
    }

    async fn inspect_once(&self, id: &ContainerId) -> Result<Inspected, DriverError> {
        let target = Target::new(&["containers", id.as_str(), "json"]);
        let request = ApiRequest::new(format!("inspect {}", id.short()), Method::GET, target);
        let response = self.client.send(request.about(id)).await?.accepted()?;
        response.parse(inspected::parse)
    }

    /// `None` when it never ran, or runs again: then the code of this process is lost.
    async fn exit_code(
        &self,
        id: &ContainerId,
        ended: Option<u32>,
    ) -> Result<Option<ExitCode>, DriverError> {
        let inspected = self.inspect(id).await?;
        if ended.is_some() && process(&inspected).is_some_and(|now| Some(now) != ended) {
            return Ok(None);
        }
        match inspected.state {
            ContainerState::Exited(code) => return Ok(Some(code)),
            ContainerState::Created => return Ok(None),
            ContainerState::Running { .. } | ContainerState::Other(_) => {}
        }
        // Its output has ended, and Podman has not noticed the exit yet.
        let target = Target::new(&["containers", id.as_str(), "wait"])
            .with("condition", "stopped")
            .with("condition", "exited");
        let attempt = format!("wait for the exit of {}", id.short());
        let request = ApiRequest::new(attempt, Method::POST, target).about(id);
        let request = request.timeout(RequestTimeout::Unlimited);
        let response = self.client.send(request).await?.accepted()?;
        let text = String::from_utf8_lossy(&response.body);
        let code = text.trim().parse::<i32>();
        let code = code.map_err(|_| refused(&response.attempt, brief(&text)))?;
        Ok(Some(ExitCode(code)))
    }
}

fn process(inspected: &Inspected) -> Option<u32> {
    match inspected.state {
        ContainerState::Running { pid, .. } => Some(pid),
        ContainerState::Created | ContainerState::Exited(_) | ContainerState::Other(_) => None,
    }
}

/// How many bytes of each stream were passed on.
#[derive(Clone, Copy, Debug, Default)]
struct BytesRead {
    stdout: usize,
    stderr: usize,
}

impl BytesRead {
    fn count(&mut self, stream: OutputStream) -> &mut usize {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    fn add(&mut self, chunk: OutputChunk<'_>) {
        *self.count(chunk.stream) += chunk.bytes.len();
    }

    /// The new part of a chunk when the log is read from its beginning again.
    fn skip<'a>(&mut self, chunk: OutputChunk<'a>) -> Option<OutputChunk<'a>> {
        let known = self.count(chunk.stream);
        let (old, new) = chunk.bytes.split_at(chunk.bytes.len().min(*known));
        *known -= old.len();
        let stream = chunk.stream;
        (!new.is_empty()).then_some(OutputChunk { stream, bytes: new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_not_passed_on_twice() {
        let chunk = |stream, bytes| OutputChunk { stream, bytes };
        let mut already_read = BytesRead::default();
        already_read.add(chunk(OutputStream::Stdout, b"abc"));
        already_read.add(chunk(OutputStream::Stderr, b"x"));
        let again = [
            chunk(OutputStream::Stdout, b"ab"),
            chunk(OutputStream::Stderr, b"x"),
            chunk(OutputStream::Stdout, b"cd"),
            chunk(OutputStream::Stderr, b"y"),
        ];
        let new = again
            .into_iter()
            .filter_map(|chunk| already_read.skip(chunk));
        let expected = [
            chunk(OutputStream::Stdout, b"d"),
            chunk(OutputStream::Stderr, b"y"),
        ];
        assert_eq!(new.collect::<Vec<_>>(), expected);
    }
}
