//! A unix socket where something misbehaves on order, and a record of what was asked.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

type Headers = Vec<(&'static str, &'static str)>;

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Whole and with its length.
    Full(u16, Headers, Vec<u8>),
    /// From libpod: announces more than these bytes, and hangs up.
    Cut(Vec<u8>),
    /// As long as anybody listens.
    Flood(Headers),
    /// These bytes and then nothing, keeping the line.
    Stall(Vec<u8>),
    /// Anything, and hangs up.
    Raw(Vec<u8>),
}

/// The header by which libpod is known.
pub(crate) fn libpod() -> Headers {
    vec![("Libpod-Api-Version", "4.3.1")]
}

/// From libpod.
pub(crate) fn json(status: u16, body: &str) -> Answer {
    Answer::Full(status, libpod(), body.as_bytes().to_vec())
}

/// Runs until it is dropped.
pub(crate) struct Server {
    folder: TempDir,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// `handler` gets the first line of each question.
    pub(crate) fn start(handler: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let record = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            // What is held open stays so until the server goes.
            let mut held = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = head(&mut stream).await;
                let line = head.lines().next().unwrap_or_default().to_owned();
                record.lock().unwrap().push(head);
                answer(&mut stream, handler(&line)).await;
                held.extend(matches!(handler(&line), Answer::Stall(_)).then_some(stream));
            }
        });
        Self {
            folder,
            asked,
            task,
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Nobody listens any more; the socket's file stays.
    pub(crate) async fn hang_up(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// The first lines of the questions.
    pub(crate) fn asked(&self) -> Vec<String> {
        let line = |head: String| head.lines().next().unwrap_or_default().to_owned();
        self.headers().into_iter().map(line).collect()
    }

    /// All that stands before the bodies.
    pub(crate) fn headers(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
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

async fn answer(stream: &mut UnixStream, answer: Answer) {
    let begin = |status: u16, headers: &Headers| {
        let headers = headers
            .iter()
            .map(|(key, value)| format!("{key}: {value}\r\n"));
        format!("HTTP/1.1 {status} X\r\n{}", headers.collect::<String>())
    };
    // Whoever does not listen to the end has heard enough.
    let _ = match answer {
        Answer::Full(status, headers, body) => {
            let begin = begin(status, &headers);
            let head = format!("{begin}Content-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).await
        }
        Answer::Cut(body) => {
            let begin = begin(200, &libpod());
            let head = format!("{begin}Content-Length: {}\r\n\r\n", body.len() + 1);
            stream.write_all(&[head.as_bytes(), &body].concat()).await
        }
        Answer::Flood(headers) => {
            let head = begin(200, &headers) + "\r\n";
            let mut sent = stream.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(&[b'z'; 65536]).await;
            }
            sent
        }
        Answer::Stall(bytes) | Answer::Raw(bytes) => stream.write_all(&bytes).await,
    };
}
