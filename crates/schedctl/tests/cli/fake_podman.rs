//! A unix socket that answers like Podman's service, or like something else.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Serves until the test ends.
pub(crate) struct FakePodman {
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakePodman {
    /// `answer` gets `METHOD PATH` of each request, and returns a status and a JSON body.
    pub(crate) fn listen(
        socket: &Path,
        answer: impl Fn(&str) -> (u16, String) + Send + 'static,
    ) -> Self {
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&requests);
        serve(socket, move |stream| {
            let line = request_line(stream);
            let (status, body) = answer(&line);
            log.lock().unwrap().push(line);
            format!(
                "HTTP/1.1 {status} -\r\nLibpod-Api-Version: 5.4.0\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            )
            .into_bytes()
        });
        Self { requests }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A frame of the output of a container: 1 is standard output, 2 standard error.
pub(crate) fn frame(stream: u8, text: &str) -> String {
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    let head = [&[stream, 0, 0, 0][..], &length].concat();
    String::from_utf8(head).unwrap() + text
}

/// A server that sends these bytes to everybody, and closes the connection.
pub(crate) fn answer_always(socket: &Path, bytes: &'static [u8]) {
    serve(socket, move |stream| {
        let _ = request_line(stream);
        bytes.to_vec()
    });
}

fn serve(socket: &Path, answer: impl Fn(&UnixStream) -> Vec<u8> + Send + 'static) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let bytes = answer(&stream);
            let _ = (&stream).write_all(&bytes);
        }
    });
}

/// `GET /v4.0.0/libpod/_ping`; reads the whole head. An HTTP/2 client has no such line.
fn request_line(stream: &UnixStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let line = head.first().map_or("", String::as_str);
    let mut parts = line.split(' ');
    let (method, path) = (parts.next(), parts.next());
    format!(
        "{} {}",
        method.unwrap_or_default(),
        path.unwrap_or_default()
    )
}
