//! A registry that misbehaves on order: plain HTTP on the loopback, one function that says what to
//! answer, and a record of everything that was asked.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `GET /v2/…?…`.
    pub(crate) line: String,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// How often the same line came before.
    pub(crate) nth: usize,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.header("authorization")
    }

    pub(crate) fn is(&self, part: &str) -> bool {
        self.line.contains(part)
    }
}

/// What is answered. `HOST` in a header stands for the server itself.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Whole and with its length.
    Full(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Without a length, in chunks, ended properly.
    Chunked(Vec<u8>),
    /// Announces so many bytes, sends these, and hangs up.
    Cut(u64, Vec<u8>),
    /// Announces so many bytes (or none: in chunks) and sends zeros as long as anybody listens.
    Flood(Option<u64>),
    /// Sends these and then nothing, keeping the line.
    Stall(Vec<u8>),
    /// A byte now and then, for ever.
    Drip,
    /// Anything, and hangs up.
    Raw(Vec<u8>),
    /// The answer, but not before a line with this part was asked as well.
    Once(&'static str, Box<Answer>),
}

pub(crate) fn status(status: u16) -> Answer {
    Answer::Full(status, vec![], vec![])
}

pub(crate) fn ok(body: impl AsRef<[u8]>) -> Answer {
    Answer::Full(200, vec![], body.as_ref().to_vec())
}

pub(crate) fn typed(media_type: &str, body: impl AsRef<[u8]>) -> Answer {
    let headers = vec![("Content-Type", media_type.to_owned())];
    Answer::Full(200, headers, body.as_ref().to_vec())
}

pub(crate) fn with(code: u16, name: &'static str, value: impl Into<String>) -> Answer {
    Answer::Full(code, vec![(name, value.into())], vec![])
}

type Handler = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

struct Shared {
    host: String,
    handler: Handler,
    requests: Mutex<Vec<Request>>,
    sent: AtomicU64,
    connections: AtomicUsize,
}

/// Runs until it is dropped.
pub(crate) struct Server {
    pub(crate) host: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(None, handler).await
    }

    /// With TLS.
    pub(crate) async fn start_tls(
        config: ServerConfig,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(TlsAcceptor::from(Arc::new(config))), handler).await
    }

    async fn start_with(
        tls: Option<TlsAcceptor>,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            host: host.clone(),
            handler: Box::new(handler),
            requests: Mutex::default(),
            sent: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, tls, Arc::clone(&shared)));
        Self { host, shared, task }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// How many of them have this in their first line.
    pub(crate) fn count_of(&self, part: &str) -> usize {
        let requests = self.requests();
        requests.iter().filter(|request| request.is(part)).count()
    }

    /// Bytes of bodies that somebody took off our hands, buffers of the system included.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        stream.set_nodelay(true).unwrap();
        let shared = Arc::clone(&shared);
        let tls = tls.clone();
        connections.spawn(async move {
            // The peer may hang up whenever it likes: that is what is tested.
            let _ = match tls {
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => serve(stream, &shared).await,
                    Err(error) => Err(error),
                },
                None => serve(stream, &shared).await,
            };
        });
    }
}

/// One connection, with or without TLS.
trait Line: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Line for T {}

async fn serve(mut stream: impl Line, shared: &Shared) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer, shared).await? {
        let mut answer = (shared.handler)(&request);
        while let Answer::Once(part, then) = answer {
            shared.wait_for(part).await;
            answer = *then;
        }
        if !send(&mut stream, answer, &request, shared).await? {
            return stream.shutdown().await;
        }
    }
    Ok(())
}

impl Shared {
    async fn wait_for(&self, part: &str) {
        while !self.requests.lock().unwrap().iter().any(|r| r.is(part)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn read(
    stream: &mut impl Line,
    buffer: &mut Vec<u8>,
    shared: &Shared,
) -> io::Result<Option<Request>> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break buffer.drain(..end + 4).collect::<Vec<_>>();
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
        if buffer.starts_with(&[0x16]) {
            // What web servers do when TLS knocks at a door without it.
            let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).await?;
            return Ok(None);
        }
    };
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines
        .next()
        .unwrap()
        .trim_end_matches(" HTTP/1.1")
        .to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers = lines.filter_map(header).collect::<Vec<_>>();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    while buffer.len() < length {
        stream.read_buf(buffer).await?;
    }
    let body = String::from_utf8(buffer.drain(..length).collect()).unwrap();
    let mut requests = shared.requests.lock().unwrap();
    let nth = requests.iter().filter(|other| other.line == line).count();
    let request = Request {
        line,
        headers,
        body,
        nth,
    };
    requests.push(request.clone());
    Ok(Some(request))
}

/// Whether the connection can be used again.
async fn send(
    stream: &mut impl Line,
    answer: Answer,
    request: &Request,
    shared: &Shared,
) -> io::Result<bool> {
    let good = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}\r\n\r\n").into_bytes();
    match answer {
        Answer::Full(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
            for (name, value) in headers {
                head += &format!("{name}: {}\r\n", value.replace("HOST", &shared.host));
            }
            stream.write_all(format!("{head}\r\n").as_bytes()).await?;
            if !request.is("HEAD ") {
                stream.write_all(&body).await?;
            }
            return Ok(true);
        }
        Answer::Chunked(body) => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            let length = format!("{:x}\r\n", body.len());
            let chunk = [length.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
            stream.write_all(&chunk).await?;
            return Ok(true);
        }
        Answer::Cut(announced, body) => {
            stream
                .write_all(&good(&format!("Content-Length: {announced}")))
                .await?;
            stream.write_all(&body).await?;
        }
        Answer::Flood(Some(announced)) => {
            stream
                .write_all(&good(&format!("Content-Length: {announced}")))
                .await?;
            flood(stream, &[0; 65536], shared).await?;
        }
        Answer::Flood(None) => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            let chunk = [b"10000\r\n".as_slice(), &[b' '; 65536], b"\r\n"].concat();
            flood(stream, &chunk, shared).await?;
        }
        Answer::Stall(bytes) => {
            stream.write_all(&bytes).await?;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Answer::Drip => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            loop {
                stream.write_all(b"1\r\n \r\n").await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Answer::Raw(bytes) => stream.write_all(&bytes).await?,
        Answer::Once(..) => unreachable!("waited for above"),
    }
    Ok(false)
}

/// A gigabyte, as far as the other side takes it.
async fn flood(stream: &mut impl Line, piece: &[u8], shared: &Shared) -> io::Result<()> {
    for _ in 0..16384 {
        stream.write_all(piece).await?;
        shared.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    Ok(())
}
