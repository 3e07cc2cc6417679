//! The lab's own network: a network namespace with a bridge, so that nothing in it can collide
//! with this machine or with another lab, and port forwards from this machine's loopback into it.
//!
//! ```text
//!   this machine                 the lab's namespace                      node 1 (VM)
//!   127.0.0.1:PORT ── forward ─▶ 10.77.0.1:6443  API server          10.77.0.11   pods 10.244.1.0/24
//!   127.0.0.1:PORT ── forward ─▶ 10.77.0.1:5000  registry     bridge ── tap1
//!   127.0.0.1:PORT ── forward ─▶ 10.77.0.1:5001  registry with referrers (topology `registry`)
//!                                127.0.0.1:…     etcd, …            ── tap2     10.77.0.12 …
//! ```
//!
//! The namespace is mounted in the supervisor's mount namespace only: it goes with the supervisor.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::command::{self, CommandError};

/// The address of the API server and the registries in the lab's network.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub const API: SocketAddrV4 = SocketAddrV4::new(HOST, 6443);
pub const REGISTRY: SocketAddrV4 = SocketAddrV4::new(HOST, 5000);
/// The registry with the referrers API.
pub const REFERRERS: SocketAddrV4 = SocketAddrV4::new(HOST, 5001);
/// The cluster IP of the Service `kubernetes`.
pub const API_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);

const NAMESPACES: &str = "/run/netns";

#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    #[error(
        "port {port} on 127.0.0.1 is taken: end what uses it (`ss -ltnp sport = :{port}` names it), choose another port, or leave the option out to get a free one"
    )]
    PortTaken { port: u16, source: io::Error },
    #[error("cannot listen on 127.0.0.1:{port}: choose another port")]
    Bind { port: u16, source: io::Error },
    #[error("cannot create the lab's network namespace, bridge and taps")]
    Command(#[from] CommandError),
    #[error("cannot enter the lab's network namespace")]
    Io(#[from] io::Error),
}

/// A port on this machine's loopback whose connections go to an address in the lab.
pub struct PortForward {
    listener: TcpListener,
    port: u16,
}

impl PortForward {
    /// Binds a fixed port, or any free one.
    pub fn bind(port: Option<u16>) -> Result<Self, NetworkError> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).map_err(|source| {
            match source.kind() {
                io::ErrorKind::AddrInUse => NetworkError::PortTaken {
                    port: wanted,
                    source,
                },
                _ => NetworkError::Bind {
                    port: wanted,
                    source,
                },
            }
        })?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Forwards connections to `inside` from now on. The calling thread must have entered the lab's
    /// network namespace: new threads inherit it, and the listener stays in the one it was bound in.
    pub fn forward_to(self, inside: SocketAddrV4) {
        std::thread::spawn(move || {
            for client in self.listener.incoming().flatten() {
                std::thread::spawn(move || forward(&client, inside.into()));
            }
        });
    }
}

/// The address of the n-th node, counted from one.
pub fn node_ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10 + number)
}

/// The pod network of the n-th node.
pub fn pod_cidr(number: u8) -> String {
    format!("10.244.{number}.0/24")
}

/// The tap device of the n-th node.
pub fn tap(number: u8) -> String {
    format!("tap{number}")
}

/// Creates the network namespace and moves the calling thread into it.
pub fn enter(nodes: u8) -> Result<(), NetworkError> {
    fs::create_dir_all(NAMESPACES)?;
    command::read(Command::new("mount").args(["-t", "tmpfs", "tmpfs", NAMESPACES]))?;
    command::read(Command::new("ip").args(["netns", "add", "lab"]))?;
    let namespace = File::open(format!("{NAMESPACES}/lab"))?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(io::Error::from)?;
    ip_batch(&links(nodes))?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    Ok(())
}

/// The input of `ip -batch`.
fn links(nodes: u8) -> String {
    let mut batch = format!(
        "link set lo up\nlink add lab0 type bridge\naddr add {HOST}/24 dev lab0\nlink set lab0 up\n"
    );
    for number in 1..=nodes {
        let (tap, pods, node) = (tap(number), pod_cidr(number), node_ip(number));
        batch += &format!(
            "tuntap add dev {tap} mode tap\nlink set {tap} master lab0 up\nroute add {pods} via {node}\n"
        );
    }
    batch
}

fn ip_batch(batch: &str) -> Result<(), NetworkError> {
    let mut ip = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = ip.stdin.take() {
        input.write_all(batch.as_bytes())?;
    }
    if ip.wait()?.success() {
        return Ok(());
    }
    Err(io::Error::other("`ip -batch` could not set up the bridge and taps").into())
}

/// No proxy knows the lab's addresses.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// A command that connects to addresses in the lab, without this machine's proxy settings.
pub fn without_proxies(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in PROXIES {
        command.env_remove(variable);
    }
    command
}

/// Copies bytes both ways until both sides have closed.
fn forward(client: &TcpStream, inside: SocketAddr) {
    let Ok(server) = TcpStream::connect(inside) else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    std::thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // Measurements go through here: bytes are passed on as they come, and the buffer is large
    // enough for an image layer to take few reads.
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_taken_port_names_the_port() {
        let holder = PortForward::bind(None).unwrap();
        let error = PortForward::bind(Some(holder.port()))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(&format!("port {} on 127.0.0.1 is taken", holder.port())),
            "{error}"
        );
    }

    #[test]
    fn a_port_forward_copies_both_ways() {
        let inside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = inside.local_addr().unwrap() else {
            panic!("not an IPv4 address");
        };
        let forward = PortForward::bind(None).unwrap();
        let port = forward.port();
        forward.forward_to(address);
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        client.write_all(b"ping").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut received = String::new();
        let (mut server, _) = inside.accept().unwrap();
        server.read_to_string(&mut received).unwrap();
        server.write_all(b"pong").unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!((received.as_str(), answer.as_str()), ("ping", "pong"));
    }
}
