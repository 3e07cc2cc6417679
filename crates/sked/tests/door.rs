//! A door on the way to an API server: whoever does not go through it goes on as before, and so the
//! world changes while whoever does cannot look.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::Cluster;

/// Passes connections on, until it is shut: then it ends them, old and new.
#[derive(Clone)]
pub(crate) struct Door {
    port: u16,
    /// Nothing while it is shut.
    through: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Door {
    /// A door on the way to this cluster's API server, and the administrator's configuration,
    /// changed, that goes through it.
    pub(crate) fn before(
        cluster: &Cluster,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> (Self, PathBuf) {
        let mut door = None;
        let kubeconfig = cluster.kubeconfig(name, |config| {
            let url = &mut config["clusters"][0]["cluster"]["server"];
            let server = url.as_str().unwrap().replace("https://", "");
            let opened = Self::to(server);
            *url = json!(format!("https://127.0.0.1:{}", opened.port));
            door = Some(opened);
            change(config);
        });
        (door.unwrap(), kubeconfig)
    }

    fn to(server: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let door = Self {
            port: listener.local_addr().unwrap().port(),
            through: Arc::new(Mutex::new(Some(Vec::new()))),
        };
        let keeper = door.clone();
        thread::spawn(move || {
            for inside in listener.incoming().map(Result::unwrap) {
                keeper.pass(inside, &server);
            }
        });
        door
    }

    fn pass(&self, inside: TcpStream, server: &str) {
        let mut through = self.through.lock().unwrap();
        let Some(through) = through.as_mut() else {
            return;
        };
        let outside = TcpStream::connect(server).unwrap();
        for (from, to) in [(&inside, &outside), (&outside, &inside)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        through.extend([inside, outside]);
    }

    /// Nobody goes through.
    pub(crate) fn shut(&self) {
        for stream in self.through.lock().unwrap().take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Everybody goes through again.
    pub(crate) fn open(&self) {
        *self.through.lock().unwrap() = Some(Vec::new());
    }
}
