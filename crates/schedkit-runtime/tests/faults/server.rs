//! A server on a unix socket with scripted faulty responses, which records its requests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

type Headers = Vec<(&'static str, &'static str)>;

#[derive(Clone, Debug)]
pub(crate) enum Response {
    /// Status, headers and body, with the right length.
    Full(u16, Headers, Vec<u8>),
    /// As libpod: announces more bytes than these and closes the connection.
    Truncated(Vec<u8>),
    /// A body without an end.
    Endless(Headers),
    /// These bytes and then nothing; the connection stays open.
    Stall(Vec<u8>),
    /// These bytes, then closes the connection.
    Raw(Vec<u8>),
}

/// The header that every response of libpod has.
pub(crate) fn libpod() -> Headers {
    vec![("Libpod-Api-Version", "4.3.1")]
}

/// A JSON response of libpod.
pub(crate) fn json(status: u16, body: &str) -> Response {
    Response::Full(status, libpod(), body.as_bytes().to_vec())
}

/// Runs until it is dropped.
pub(crate) struct Server {
    folder: TempDir,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// `handler` gets the first line of each request.
    pub(crate) fn start(handler: impl Fn(&str) -> Response + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let record = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            // Connections that stay open until the server is dropped.
            let mut open = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = head(&mut stream).await;
                let line = head.lines().next().unwrap_or_default().to_owned();
                record.lock().unwrap().push(head);
                respond(&mut stream, handler(&line)).await;
                open.extend(matches!(handler(&line), Response::Stall(_)).then_some(stream));
            }
        });
        Self {
            folder,
            requests,
            task,
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Stops listening; the socket's file stays.
    pub(crate) async fn stop_listening(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    pub(crate) fn request_lines(&self) -> Vec<String> {
        let line = |head: String| head.lines().next().unwrap_or_default().to_owned();
        self.headers().into_iter().map(line).collect()
    }

    /// The heads of all requests.
    pub(crate) fn headers(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn head(stream: &mut UnixStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

async fn respond(stream: &mut UnixStream, response: Response) {
    let begin = |status: u16, headers: &Headers| {
        let headers = headers
            .iter()
            .map(|(key, value)| format!("{key}: {value}\r\n"));
        format!("HTTP/1.1 {status} X\r\n{}", headers.collect::<String>())
    };
    // The client may close the connection before the end.
    let _ = match response {
        Response::Full(status, headers, body) => {
            let begin = begin(status, &headers);
            let head = format!("{begin}Content-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).await
        }
        Response::Truncated(body) => {
            let begin = begin(200, &libpod());
            let head = format!("{begin}Content-Length: {}\r\n\r\n", body.len() + 1);
            stream.write_all(&[head.as_bytes(), &body].concat()).await
        }
        Response::Endless(headers) => {
            let head = begin(200, &headers) + "\r\n";
            let mut sent = stream.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(&[b'z'; 65536]).await;
            }
            sent
        }
        Response::Stall(bytes) | Response::Raw(bytes) => stream.write_all(&bytes).await,
    };
}
