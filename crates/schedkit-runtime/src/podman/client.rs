//! Sends one request over the socket and reads its response. Every wait has a timeout, except for the
//! output of a scheduler that is followed, and every body a size limit. Called by the methods of the
//! driver.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use schedkit_core::sanitize::brief;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::response::{ApiResponse, refused};
use super::target::Target;
use crate::container::ContainerId;
use crate::driver::{DriverError, Runtime};

/// Enough for thousands of containers.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// As much as is read from a service that is not Podman.
const MAX_UNKNOWN_BODY: usize = 4096;
/// Every response of libpod has it.
const API_VERSION: &str = "libpod-api-version";
const REGISTRY_AUTH: HeaderName = HeaderName::from_static("x-registry-auth");

#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a response to begin, and for each next part of it.
    pub response: Duration,
    /// For the next message about a pull: Podman sends none while it receives a layer.
    pub pull: Duration,
}

#[derive(Debug)]
pub(super) struct ApiClient {
    pub(super) socket: PathBuf,
    pub(super) timeouts: Timeouts,
}

#[derive(Debug)]
pub(super) struct ApiRequest {
    /// A verb phrase for errors: "start it".
    attempt: String,
    method: Method,
    target: Target,
    registry_auth: Option<HeaderValue>,
    body: Option<String>,
    container: Option<ContainerId>,
    timeout: RequestTimeout,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum RequestTimeout {
    Default,
    /// The default and this.
    Extended(Duration),
    Pull,
    /// For the output of a scheduler, which may print nothing for days.
    Unlimited,
}

/// A response whose body is read in parts.
#[derive(Debug)]
pub(super) struct ResponseStream<'a> {
    client: &'a ApiClient,
    attempt: String,
    timeout: RequestTimeout,
    body: Incoming,
    _connection: ConnectionTask,
}

/// Drives a connection until it is dropped.
#[derive(Debug)]
struct ConnectionTask(JoinHandle<()>);

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            response: Duration::from_secs(60),
            pull: Duration::from_secs(3600),
        }
    }
}

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ApiRequest {
    pub(super) fn new(attempt: impl Into<String>, method: Method, target: Target) -> Self {
        Self {
            attempt: attempt.into(),
            method,
            target,
            registry_auth: None,
            body: None,
            container: None,
            timeout: RequestTimeout::Default,
        }
    }

    /// Names the container, so that a response that it does not exist becomes its own error.
    pub(super) fn about(mut self, id: &ContainerId) -> Self {
        self.container = Some(id.clone());
        self
    }

    pub(super) fn timeout(mut self, timeout: RequestTimeout) -> Self {
        self.timeout = timeout;
        self
    }

    pub(super) fn registry_auth(mut self, value: Option<HeaderValue>) -> Self {
        self.registry_auth = value;
        self
    }

    pub(super) fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = Some(body.to_string());
        self
    }

    fn http_request(&self) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let body = self.body.clone().unwrap_or_default();
        let mut request = Request::builder()
            .method(&self.method)
            .uri(self.target.as_str())
            .header(HOST, "d");
        if self.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(value) = &self.registry_auth {
            request = request.header(REGISTRY_AUTH, value);
        }
        request.body(Full::from(body))
    }
}

impl ApiClient {
    pub(super) fn new(socket: PathBuf, timeouts: Timeouts) -> Self {
        Self { socket, timeouts }
    }

    /// Returns the whole response, whatever its status.
    pub(super) async fn send(&self, request: ApiRequest) -> Result<ApiResponse, DriverError> {
        let (response, connection) = self.begin(&request).await?;
        self.collect(request, response, connection).await
    }

    /// Returns a response whose body is read in parts; a refusal is an error.
    pub(super) async fn stream(
        &self,
        request: ApiRequest,
    ) -> Result<ResponseStream<'_>, DriverError> {
        let (response, connection) = self.begin(&request).await?;
        if !response.status().is_success() {
            let response = self.collect(request, response, connection).await?;
            return Err(response.refusal());
        }
        Ok(ResponseStream {
            client: self,
            attempt: request.attempt,
            timeout: request.timeout,
            body: response.into_body(),
            _connection: connection,
        })
    }

    async fn collect(
        &self,
        request: ApiRequest,
        response: Response<Incoming>,
        connection: ConnectionTask,
    ) -> Result<ApiResponse, DriverError> {
        let status = response.status();
        let version = version(&response).unwrap_or_default();
        let mut stream = ResponseStream {
            client: self,
            attempt: request.attempt,
            timeout: RequestTimeout::Default,
            body: response.into_body(),
            _connection: connection,
        };
        let mut body = Vec::new();
        while let Some(part) = stream.next().await? {
            if body.len() + part.len() > MAX_BODY {
                let message = format!("its response has more than {MAX_BODY} bytes");
                return Err(refused(&stream.attempt, message));
            }
            body.extend_from_slice(&part);
        }
        Ok(ApiResponse {
            attempt: stream.attempt,
            status,
            version,
            body: Bytes::from(body),
            container: request.container,
        })
    }

    /// Connects, sends the request and waits for the head of the response.
    async fn begin(
        &self,
        request: &ApiRequest,
    ) -> Result<(Response<Incoming>, ConnectionTask), DriverError> {
        let attempt = &request.attempt;
        let http_request = request
            .http_request()
            .map_err(|error| refused(attempt, format!("the request is invalid: {error}")))?;
        let socket = self.connect(attempt).await?;
        let handshake = http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, connection) = handshake.map_err(|error| self.broken(attempt, error))?;
        let connection = ConnectionTask(tokio::spawn(async move {
            // Its errors are also returned by `send_request` and by the body.
            let _ = connection.await;
        }));
        let response = sender.send_request(http_request);
        let response = self.within(request.timeout, attempt, response).await?;
        let response = response.map_err(|error| self.broken(attempt, error))?;
        if version(&response).is_none() {
            return Err(self.unknown_service(response).await);
        }
        Ok((response, connection))
    }

    async fn connect(&self, attempt: &str) -> Result<UnixStream, DriverError> {
        let connection = UnixStream::connect(&self.socket);
        let connection = self
            .within(RequestTimeout::Default, attempt, connection)
            .await?;
        connection.map_err(|source| DriverError::Unreachable {
            runtime: Runtime::Podman,
            socket: self.socket.clone(),
            source,
        })
    }

    async fn within<T>(
        &self,
        limit: RequestTimeout,
        attempt: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, DriverError> {
        let limit = match limit {
            RequestTimeout::Default => self.timeouts.response,
            RequestTimeout::Extended(more) => self.timeouts.response.saturating_add(more),
            RequestTimeout::Pull => self.timeouts.pull,
            RequestTimeout::Unlimited => return Ok(work.await),
        };
        timeout(limit, work)
            .await
            .map_err(|_| DriverError::Timeout {
                runtime: Runtime::Podman,
                attempt: attempt.to_owned(),
                seconds: limit.as_secs(),
            })
    }

    /// The error for an HTTP service that is not Podman, with the beginning of its response.
    async fn unknown_service(&self, response: Response<Incoming>) -> DriverError {
        let status = response.status();
        let mut body = response.into_body();
        let mut text = Vec::new();
        // Errors while reading change nothing: it is not Podman.
        while text.len() < MAX_UNKNOWN_BODY {
            match timeout(self.timeouts.response, body.frame()).await {
                Ok(Some(Ok(frame))) => text.extend(frame.into_data().unwrap_or_default()),
                _ => break,
            }
        }
        text.truncate(MAX_UNKNOWN_BODY);
        let text = String::from_utf8_lossy(&text);
        self.wrong_service(&format!(
            "it responded with {} {}",
            status.as_u16(),
            brief(&text)
        ))
    }

    fn wrong_service(&self, response: &str) -> DriverError {
        DriverError::WrongService {
            runtime: Runtime::Podman,
            socket: self.socket.clone(),
            response: response.trim_end().to_owned(),
        }
    }

    fn broken(&self, attempt: &str, error: hyper::Error) -> DriverError {
        if error.is_parse() || sent_first(&error) {
            return self.wrong_service("it does not speak HTTP");
        }
        DriverError::Disconnected {
            runtime: Runtime::Podman,
            attempt: attempt.to_owned(),
            source: io::Error::other(error),
        }
    }
}

impl ResponseStream<'_> {
    pub(super) fn attempt(&self) -> &str {
        &self.attempt
    }

    /// The next part of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, DriverError> {
        loop {
            let frame = self.body.frame();
            let frame = self
                .client
                .within(self.timeout, &self.attempt, frame)
                .await?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| self.client.broken(&self.attempt, error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// An HTTP/1 server waits for the request; containerd sends first. hyper has no other sign of it
/// than the text of the error.
fn sent_first(error: &hyper::Error) -> bool {
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

    /// As containerd does: in its protocol both sides send at once.
    #[tokio::test]
    async fn a_service_that_sends_first_is_not_podman() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        theirs.write_all(b"\0\0\x06\x04\0\0\0\0\0").await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        let _connection = ConnectionTask(tokio::spawn(async move { drop(connection.await) }));
        let request = Request::new(Full::new(Bytes::from("?")));
        let error = sender.send_request(request).await.unwrap_err();
        let client = ApiClient::new("/s".into(), Timeouts::default());
        let error = client.broken("list", error);
        assert!(
            matches!(error, DriverError::WrongService { .. }),
            "{error:?}"
        );
    }
}
