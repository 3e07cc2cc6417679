//! An HTTP server on the loopback that misbehaves: a function decides the reply to each request, and
//! all requests are recorded.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `GET /v2/…?…`.
    pub(crate) line: String,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// How many requests with the same line came before.
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

/// `HOST` in a header stands for the server itself.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Status, headers and body, with the body's length.
    Full(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Without a length, in chunks, ended properly.
    Chunked(Vec<u8>),
    /// Announces this length, sends these bytes, and disconnects.
    Cut(u64, Vec<u8>),
    /// Announces this length (or sends chunks) and sends zeros until the client disconnects.
    Flood(Option<u64>),
    /// Sends these bytes and then nothing, without disconnecting.
    Stall(Vec<u8>),
    /// One byte every 10 ms, without end.
    Drip,
    /// Sends these bytes and disconnects.
    Raw(Vec<u8>),
    /// The reply, after a request whose line contains this text.
    After(&'static str, Box<Reply>),
}

pub(crate) fn status(status: u16) -> Reply {
    Reply::Full(status, vec![], vec![])
}

pub(crate) fn ok(body: impl AsRef<[u8]>) -> Reply {
    Reply::Full(200, vec![], body.as_ref().to_vec())
}

pub(crate) fn typed(media_type: &str, body: impl AsRef<[u8]>) -> Reply {
    let headers = vec![("Content-Type", media_type.to_owned())];
    Reply::Full(200, headers, body.as_ref().to_vec())
}

pub(crate) fn with(code: u16, name: &'static str, value: impl Into<String>) -> Reply {
    Reply::Full(code, vec![(name, value.into())], vec![])
}

type Handler = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

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
    pub(crate) async fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(None, handler).await
    }

    /// With TLS.
    pub(crate) async fn start_tls(
        config: ServerConfig,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(Some(TlsAcceptor::from(Arc::new(config))), handler).await
    }

    async fn start_with(
        tls: Option<TlsAcceptor>,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
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

    pub(crate) fn count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// The number of requests whose line contains this text.
    pub(crate) fn count_of(&self, part: &str) -> usize {
        let requests = self.requests();
        requests.iter().filter(|request| request.is(part)).count()
    }

    /// Bytes of bodies that were sent, including those in the system's buffers.
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

/// An address without a server.
pub(crate) async fn no_server() -> String {
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
            // The client may disconnect at any time: that is tested.
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
trait Connection: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Connection for T {}

async fn serve(mut stream: impl Connection, shared: &Shared) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer, shared).await? {
        let mut reply = (shared.handler)(&request);
        while let Reply::After(part, then) = reply {
            shared.wait_for(part).await;
            reply = *then;
        }
        if !send(&mut stream, reply, &request, shared).await? {
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
    stream: &mut impl Connection,
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
            // The reply of web servers to TLS on a port without TLS.
            let reply = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            stream.write_all(reply).await?;
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
    stream: &mut impl Connection,
    reply: Reply,
    request: &Request,
    shared: &Shared,
) -> io::Result<bool> {
    let good = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}\r\n\r\n").into_bytes();
    match reply {
        Reply::Full(status, headers, body) => {
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
        Reply::Chunked(body) => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            let length = format!("{:x}\r\n", body.len());
            let chunk = [length.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
            stream.write_all(&chunk).await?;
            return Ok(true);
        }
        Reply::Cut(announced, body) => {
            stream
                .write_all(&good(&format!("Content-Length: {announced}")))
                .await?;
            stream.write_all(&body).await?;
        }
        Reply::Flood(Some(announced)) => {
            stream
                .write_all(&good(&format!("Content-Length: {announced}")))
                .await?;
            flood(stream, &[0; 65536], shared).await?;
        }
        Reply::Flood(None) => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            let chunk = [b"10000\r\n".as_slice(), &[b' '; 65536], b"\r\n"].concat();
            flood(stream, &chunk, shared).await?;
        }
        Reply::Stall(bytes) => {
            stream.write_all(&bytes).await?;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        Reply::Drip => {
            stream
                .write_all(&good("Transfer-Encoding: chunked"))
                .await?;
            loop {
                stream.write_all(b"1\r\n \r\n").await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Reply::Raw(bytes) => stream.write_all(&bytes).await?,
        Reply::After(..) => unreachable!("waited for above"),
    }
    Ok(false)
}

/// A gigabyte, or until the client disconnects.
async fn flood(stream: &mut impl Connection, piece: &[u8], shared: &Shared) -> io::Result<()> {
    for _ in 0..16384 {
        stream.write_all(piece).await?;
        shared.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
    }
    Ok(())
}
