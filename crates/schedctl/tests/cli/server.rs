//! A web server with a few files that never change: a catalog, or a small registry.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Texts by path; where there is none, the server has trouble.
pub(crate) type Files = HashMap<String, String>;

/// Runs until it is stopped, or the test ends.
pub(crate) struct Server {
    /// `HOST:PORT`.
    pub(crate) address: String,
    visits: Receiver<Visit>,
    thread: JoinHandle<()>,
}

/// One request.
pub(crate) struct Visit {
    /// The version that the visitor had.
    pub(crate) had: Option<String>,
    pub(crate) answered: u16,
}

impl Server {
    pub(crate) fn start(files: Files) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, visits) = channel();
        let thread = std::thread::spawn(move || serve(&listener, &files, &sender));
        Self {
            address,
            visits,
            thread,
        }
    }

    pub(crate) fn next_visit(&self) -> Visit {
        self.visits.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Ends it; nobody answers at its address any more.
    pub(crate) fn stop(self) {
        drop(self.visits);
        drop(TcpStream::connect(&self.address));
        self.thread.join().unwrap();
    }
}

fn serve(listener: &TcpListener, files: &Files, visits: &Sender<Visit>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let mut words = head.first().map_or("", String::as_str).split([' ', '?']);
        let (method, path) = (words.next(), words.next().unwrap_or_default());
        let version = |line: &String| line.strip_prefix("if-none-match: ").map(str::to_owned);
        let had = head.iter().find_map(version);
        let (answered, body) = match files.get(path) {
            Some(text) if text.is_empty() => (500, ""),
            Some(_) if had.is_some() => (304, ""),
            Some(text) => (200, text.as_str()),
            None => (404, ""),
        };
        if visits.send(Visit { had, answered }).is_err() {
            return;
        }
        let sent = if method == Some("HEAD") { "" } else { body };
        let _ = write!(
            stream,
            "HTTP/1.1 {answered} -\r\netag: \"1\"\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{sent}",
            body.len()
        );
    }
}
