//! A TCP proxy before an API server. Closing it cuts off whoever connects through it, while
//! everybody else goes on.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::cluster::Cluster;

#[derive(Clone)]
pub struct TcpProxy {
    port: u16,
    /// None while it is closed.
    connections: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl TcpProxy {
    /// A proxy before this cluster's API server, and the administrator's kubeconfig, changed, that
    /// goes through it.
    pub fn before(
        cluster: &Cluster,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> (Self, PathBuf) {
        Self::at("127.0.0.1", cluster, name, change)
    }

    /// The same on another address of this machine.
    pub(crate) fn at(
        address: &str,
        cluster: &Cluster,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> (Self, PathBuf) {
        let mut proxy = None;
        let kubeconfig = cluster.kubeconfig(name, |config| {
            let url = &mut config["clusters"][0]["cluster"]["server"];
            let server = url.as_str().unwrap().replace("https://", "");
            let listening = Self::to(address, server);
            *url = json!(format!("https://{address}:{}", listening.port));
            proxy = Some(listening);
            change(config);
        });
        (proxy.unwrap(), kubeconfig)
    }

    fn to(address: &str, server: String) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::new(Mutex::new(Some(Vec::new()))),
        };
        let accepting = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().map(Result::unwrap) {
                accepting.forward(client, &server);
            }
        });
        proxy
    }

    fn forward(&self, client: TcpStream, server: &str) {
        let mut connections = self.connections.lock().unwrap();
        let Some(connections) = connections.as_mut() else {
            return;
        };
        let Ok(upstream) = TcpStream::connect(server) else {
            return;
        };
        for (from, to) in [(&client, &upstream), (&upstream, &client)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        connections.extend([client, upstream]);
    }

    /// Ends all connections and accepts none.
    pub fn close(&self) {
        let connections = self.connections.lock().unwrap().take();
        for stream in connections.into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn open(&self) {
        *self.connections.lock().unwrap() = Some(Vec::new());
    }
}
