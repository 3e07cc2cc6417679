//! A web server with constant files: a small registry.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Texts by path; an empty text is answered with 500.
pub(crate) type Files = HashMap<String, String>;

pub(crate) struct Server {
    /// `HOST:PORT`.
    pub(crate) address: String,
    /// Dropped to end the thread.
    running: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(files: Files) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, running) = channel();
        let thread = std::thread::spawn(move || serve(&listener, &files, &sender));
        Self {
            address,
            running,
            thread,
        }
    }

    pub(crate) fn stop(self) {
        drop(self.running);
        drop(TcpStream::connect(&self.address));
        self.thread.join().unwrap();
    }
}

fn serve(listener: &TcpListener, files: &Files, running: &Sender<()>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let mut parts = head.first().map_or("", String::as_str).split([' ', '?']);
        let (method, path) = (parts.next(), parts.next().unwrap_or_default());
        let (status, body) = match files.get(path) {
            Some(text) if text.is_empty() => (500, ""),
            Some(text) => (200, text.as_str()),
            None => (404, ""),
        };
        if running.send(()).is_err() {
            return;
        }
        let sent = if method == Some("HEAD") { "" } else { body };
        let _ = write!(
            stream,
            "HTTP/1.1 {status} -\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{sent}",
            body.len()
        );
    }
}
