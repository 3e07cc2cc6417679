//! One question over the socket and its answer: connects, sends, reads. Every wait has an end but
//! that for the words of a scheduler which is followed, and every body a cap. Called by the
//! methods of the driver; it knows nothing of what is asked.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use schedkit_core::foreign::{brief, shortened};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Waits;
use super::reply;
use super::target::Target;
use crate::container::ContainerId;
use crate::driver::{DriverError, Runtime};

/// Thousands of containers fit in it.
const BIGGEST_BODY: usize = 16 * 1024 * 1024;
/// As much as is read of what a stranger says.
const STRANGE_BODY: usize = 4096;
/// Every answer of libpod has it.
const API_VERSION: &str = "libpod-api-version";
const LOGIN: HeaderName = HeaderName::from_static("x-registry-auth");

/// The way to the socket.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) socket: PathBuf,
    pub(super) waits: Waits,
}

/// What is asked.
#[derive(Debug)]
pub(super) struct Ask {
    /// For errors: "start it".
    attempt: String,
    method: Method,
    target: Target,
    login: Option<HeaderValue>,
    body: Option<String>,
    about: Option<ContainerId>,
    patience: Patience,
}

/// How long to wait for an answer to begin, and for each next piece of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
    /// As for most questions.
    Usual,
    /// So much longer.
    Longer(Duration),
    /// As long as a pull may be silent.
    Pull,
    /// For ever: a scheduler may have nothing to say for days.
    Endless,
}

/// An answer, all of it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) attempt: String,
    pub(super) status: StatusCode,
    /// Of Podman.
    pub(super) version: String,
    pub(super) body: Bytes,
    about: Option<ContainerId>,
}

/// An answer whose pieces come by and by.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    wire: &'a Wire,
    attempt: String,
    patience: Patience,
    body: Incoming,
    _line: Line,
}

/// The connection, which ends with whoever holds it.
#[derive(Debug)]
struct Line(JoinHandle<()>);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Ask {
    pub(super) fn new(attempt: impl Into<String>, method: Method, target: Target) -> Self {
        Self {
            attempt: attempt.into(),
            method,
            target,
            login: None,
            body: None,
            about: None,
            patience: Patience::Usual,
        }
    }

    /// Which container it is about, so that its absence can be told.
    pub(super) fn about(mut self, id: &ContainerId) -> Self {
        self.about = Some(id.clone());
        self
    }

    pub(super) fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    pub(super) fn login(mut self, login: Option<HeaderValue>) -> Self {
        self.login = login;
        self
    }

    pub(super) fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = Some(body.to_string());
        self
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let body = self.body.clone().unwrap_or_default();
        let mut request = Request::builder()
            .method(&self.method)
            .uri(self.target.as_str())
            .header(HOST, "d");
        if self.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(login) = &self.login {
            request = request.header(LOGIN, login);
        }
        request.body(Full::from(body))
    }
}

impl Wire {
    pub(super) fn new(socket: PathBuf, waits: Waits) -> Self {
        Self { socket, waits }
    }

    /// The whole answer, whatever its status.
    pub(super) async fn whole(&self, ask: Ask) -> Result<Answer, DriverError> {
        let (response, line) = self.send(&ask).await?;
        self.collect(ask, response, line).await
    }

    /// An answer that comes by and by; a refusal is an error.
    pub(super) async fn stream(&self, ask: Ask) -> Result<Stream<'_>, DriverError> {
        let (response, line) = self.send(&ask).await?;
        if !response.status().is_success() {
            let answer = self.collect(ask, response, line).await?;
            return Err(reply::refusal(&answer));
        }
        Ok(Stream {
            wire: self,
            attempt: ask.attempt,
            patience: ask.patience,
            body: response.into_body(),
            _line: line,
        })
    }

    async fn collect(
        &self,
        ask: Ask,
        response: Response<Incoming>,
        line: Line,
    ) -> Result<Answer, DriverError> {
        let status = response.status();
        let version = version(&response).unwrap_or_default();
        let mut stream = Stream {
            wire: self,
            attempt: ask.attempt,
            patience: Patience::Usual,
            body: response.into_body(),
            _line: line,
        };
        let mut body = Vec::new();
        while let Some(piece) = stream.next().await? {
            if body.len() + piece.len() > BIGGEST_BODY {
                let said = format!("its answer has more than {BIGGEST_BODY} bytes");
                return Err(reply::refused(&stream.attempt, said));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Answer {
            attempt: stream.attempt,
            status,
            version,
            body: Bytes::from(body),
            about: ask.about,
        })
    }

    async fn send(&self, ask: &Ask) -> Result<(Response<Incoming>, Line), DriverError> {
        let attempt = &ask.attempt;
        let request = ask
            .request()
            .map_err(|error| reply::refused(attempt, format!("the question is none: {error}")))?;
        let socket = self.connect(attempt).await?;
        let shake = http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, connection) = shake.map_err(|error| self.broken(attempt, error))?;
        let line = Line(tokio::spawn(async move {
            // What went wrong is told by whoever waits for the answer.
            let _ = connection.await;
        }));
        let response = self.within(ask.patience, attempt, sender.send_request(request));
        let response = response
            .await?
            .map_err(|error| self.broken(attempt, error))?;
        if version(&response).is_none() {
            return Err(self.strange(response).await);
        }
        Ok((response, line))
    }

    async fn connect(&self, attempt: &str) -> Result<UnixStream, DriverError> {
        let connection = UnixStream::connect(&self.socket);
        let connection = self.within(Patience::Usual, attempt, connection).await?;
        connection.map_err(|source| DriverError::Unreachable {
            runtime: Runtime::Podman,
            socket: self.socket.clone(),
            source,
        })
    }

    async fn within<T>(
        &self,
        patience: Patience,
        attempt: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, DriverError> {
        let limit = match patience {
            Patience::Usual => self.waits.answer,
            Patience::Longer(more) => self.waits.answer.saturating_add(more),
            Patience::Pull => self.waits.pull,
            Patience::Endless => return Ok(work.await),
        };
        timeout(limit, work)
            .await
            .map_err(|_| DriverError::TooSlow {
                runtime: Runtime::Podman,
                attempt: attempt.to_owned(),
                seconds: limit.as_secs(),
            })
    }

    /// Somebody who speaks HTTP and is not Podman.
    async fn strange(&self, response: Response<Incoming>) -> DriverError {
        let status = response.status();
        let mut body = response.into_body();
        let mut text = Vec::new();
        // Whatever goes wrong here, it stays a stranger.
        while text.len() < STRANGE_BODY {
            match timeout(self.waits.answer, body.frame()).await {
                Ok(Some(Ok(frame))) => text.extend(frame.into_data().unwrap_or_default()),
                _ => break,
            }
        }
        text.truncate(STRANGE_BODY);
        let text = String::from_utf8_lossy(&text);
        self.stranger(&format!("it says {} {}", status.as_u16(), brief(&text)))
    }

    fn stranger(&self, said: &str) -> DriverError {
        DriverError::Stranger {
            runtime: Runtime::Podman,
            socket: self.socket.clone(),
            said: said.trim_end().to_owned(),
        }
    }

    fn broken(&self, attempt: &str, error: hyper::Error) -> DriverError {
        if error.is_parse() || spoke_first(&error) {
            return self.stranger("it does not speak HTTP");
        }
        DriverError::Cut {
            runtime: Runtime::Podman,
            attempt: attempt.to_owned(),
            source: io::Error::other(error),
        }
    }
}

impl Stream<'_> {
    pub(super) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// The next piece, until there is none.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, DriverError> {
        loop {
            let frame = self.body.frame();
            let frame = self
                .wire
                .within(self.patience, &self.attempt, frame)
                .await?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| self.wire.broken(&self.attempt, error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

impl Answer {
    #[cfg(test)]
    pub(super) fn new(
        attempt: &str,
        status: StatusCode,
        body: &str,
        about: Option<ContainerId>,
    ) -> Self {
        Self {
            attempt: attempt.to_owned(),
            status,
            version: String::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            about,
        }
    }

    pub(super) fn about(&self) -> Option<&ContainerId> {
        self.about.as_ref()
    }

    /// What a pure parser makes of the body.
    pub(super) fn read<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, serde_json::Error>,
    ) -> Result<T, DriverError> {
        let text = String::from_utf8_lossy(&self.body);
        parse(&text).map_err(|error| {
            let said = format!("its answer cannot be understood: {error}");
            reply::refused(&self.attempt, shortened(&said, 300))
        })
    }
}

/// Whoever speaks HTTP/1 waits for the question; containerd does not. hyper has no other name for
/// it than its words.
fn spoke_first(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    error.is_canceled() && cause.is_some_and(|cause| cause.contains("unexpected message"))
}

fn version(response: &Response<Incoming>) -> Option<String> {
    let value = response.headers().get(API_VERSION)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// As containerd does: its protocol begins on both sides at once.
    #[tokio::test]
    async fn who_speaks_before_being_asked_is_a_stranger() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        theirs.write_all(b"\0\0\x06\x04\0\0\0\0\0").await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        let _line = Line(tokio::spawn(async move { drop(connection.await) }));
        let question = Request::new(Full::new(Bytes::from("?")));
        let error = sender.send_request(question).await.unwrap_err();
        let wire = Wire::new("/s".into(), Waits::default());
        let error = wire.broken("list", error);
        assert!(matches!(error, DriverError::Stranger { .. }), "{error:?}");
    }
}
