//! The lab's own network: a network namespace with a bridge, so that nothing in it can collide
//! with this machine or with another lab, and forwards that lead into it from this machine's loopback.
//!
//! ```text
//!   this machine                 the lab's namespace                      node 1 (VM)
//!   127.0.0.1:PORT ── forward ──▶ 10.77.0.1:6443  API server          10.77.0.11   pods 10.244.1.0/24
//!   127.0.0.1:PORT ── forward ──▶ 10.77.0.1:5000  registry     bridge ── tap1
//!   127.0.0.1:PORT ── forward ──▶ 10.77.0.1:5001  registry with referrers (topology `registry`)
//!                              127.0.0.1:…     etcd, …            ── tap2     10.77.0.12 …
//! ```
//!
//! The namespace belongs to the supervisor's private mounts: it is gone when the supervisor is.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::command::{self, CommandError};

/// Where the API server and the registry are, as the nodes see them.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The API server's port inside.
pub const API: SocketAddrV4 = SocketAddrV4::new(HOST, 6443);
/// The registry's port inside.
pub const REGISTRY: SocketAddrV4 = SocketAddrV4::new(HOST, 5000);
/// The port inside of the registry with the referrers API.
pub const REFERRERS: SocketAddrV4 = SocketAddrV4::new(HOST, 5001);
/// The Service that stands for the API server in every pod.
pub const API_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);

const NAMESPACES: &str = "/run/netns";

/// Why the network is not there.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A fixed port is in use.
    #[error(
        "port {port} on 127.0.0.1 is taken: end what uses it (`ss -ltnp sport = :{port}` names it), choose another port, or leave the option out to get a free one"
    )]
    PortTaken {
        /// Which.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The namespace, bridge or taps could not be made.
    #[error("cannot make the lab's network")]
    Command(#[from] CommandError),
    /// The system refused.
    #[error("cannot enter the lab's network")]
    Io(#[from] io::Error),
}

/// A listening port on this machine's loopback that will lead into the lab.
pub struct PortForward {
    listener: TcpListener,
    port: u16,
}

impl PortForward {
    /// Opens a forward at a fixed or at any free port. Bound from here on, so nobody can take it.
    pub fn open(port: Option<u16>) -> Result<Self, NetworkError> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).map_err(|source| {
            NetworkError::PortTaken {
                port: wanted,
                source,
            }
        })?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The port on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Leads every visitor to `inside` from now on. Call it from a thread that has entered the
    /// lab's network: threads inherit it, while the forward itself stays outside where it was opened.
    pub fn forward_to(self, inside: SocketAddrV4) {
        std::thread::spawn(move || {
            for visitor in self.listener.incoming().flatten() {
                std::thread::spawn(move || guide(&visitor, inside.into()));
            }
        });
    }
}

/// The address of the n-th node, counted from one.
pub fn node_ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10 + number)
}

/// The addresses of the n-th node's pods.
pub fn pod_cidr(number: u8) -> String {
    format!("10.244.{number}.0/24")
}

/// The name of the n-th node's network device on this side.
pub fn tap(number: u8) -> String {
    format!("tap{number}")
}

/// Makes the network and moves the calling thread into it, for good.
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

/// What `ip -batch` is to do.
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
    Err(io::Error::other("`ip -batch` refused to set up the bridge").into())
}

/// Variables that send a program's requests elsewhere; no proxy knows the lab's addresses.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// A program that speaks to others in the lab's network, and to nobody else.
pub fn without_proxies(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in PROXIES {
        command.env_remove(variable);
    }
    command
}

/// Carries bytes both ways until both sides have said all they had to say.
fn guide(visitor: &TcpStream, inside: SocketAddr) {
    let Ok(host) = TcpStream::connect(inside) else {
        return;
    };
    let _ = (visitor.set_nodelay(true), host.set_nodelay(true));
    std::thread::scope(|scope| {
        scope.spawn(|| carry(visitor, &host));
        carry(&host, visitor);
    });
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    // Measurements run through here: whatever has come is passed on at once, and a layer of an
    // image takes few turns.
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
    fn a_taken_port_is_named_with_its_remedy() {
        let holder = PortForward::open(None).unwrap();
        let error = PortForward::open(Some(holder.port()))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains(&format!("port {} on 127.0.0.1 is taken", holder.port())),
            "{error}"
        );
    }

    #[test]
    fn a_door_carries_both_ways() {
        let inside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = inside.local_addr().unwrap() else {
            panic!("not an IPv4 address");
        };
        let forward = PortForward::open(None).unwrap();
        let port = forward.port();
        forward.forward_to(address);
        let mut visitor = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        visitor.write_all(b"ping").unwrap();
        visitor.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        let (mut host, _) = inside.accept().unwrap();
        host.read_to_string(&mut heard).unwrap();
        host.write_all(b"pong").unwrap();
        drop(host);
        let mut answer = String::new();
        visitor.read_to_string(&mut answer).unwrap();
        assert_eq!((heard.as_str(), answer.as_str()), ("ping", "pong"));
    }
}
