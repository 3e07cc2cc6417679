//! A web server with constant files: a catalog, or a small registry.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Texts by path; an empty text is answered with 500.
pub(crate) type Files = HashMap<String, String>;

pub(crate) struct Server {
    /// `HOST:PORT`.
    pub(crate) address: String,
    requests: Receiver<Request>,
    thread: JoinHandle<()>,
}

pub(crate) struct Request {
    /// The version that the client has cached.
    pub(crate) cached: Option<String>,
    pub(crate) status: u16,
}

impl Server {
    pub(crate) fn start(files: Files) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = channel();
        let thread = std::thread::spawn(move || serve(&listener, &files, &sender));
        Self {
            address,
            requests,
            thread,
        }
    }

    pub(crate) fn next_request(&self) -> Request {
        self.requests.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    pub(crate) fn stop(self) {
        drop(self.requests);
        drop(TcpStream::connect(&self.address));
        self.thread.join().unwrap();
    }
}

fn serve(listener: &TcpListener, files: &Files, requests: &Sender<Request>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let mut parts = head.first().map_or("", String::as_str).split([' ', '?']);
        let (method, path) = (parts.next(), parts.next().unwrap_or_default());
        let version = |line: &String| line.strip_prefix("if-none-match: ").map(str::to_owned);
        let cached = head.iter().find_map(version);
        let (status, body) = match files.get(path) {
            Some(text) if text.is_empty() => (500, ""),
            Some(_) if cached.is_some() => (304, ""),
            Some(text) => (200, text.as_str()),
            None => (404, ""),
        };
        if requests.send(Request { cached, status }).is_err() {
            return;
        }
        let sent = if method == Some("HEAD") { "" } else { body };
        let _ = write!(
            stream,
            "HTTP/1.1 {status} -\r\netag: \"1\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{sent}",
            body.len()
        );
    }
}
