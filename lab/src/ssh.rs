//! The way into a node: one ssh connection a node that the supervisor holds open, and everybody
//! else's commands go through it. A handshake with an emulated processor takes a second; a
//! command over an open connection does not.
//!
//! Sockets are named relative to the state folder, because the path of a socket may have 108
//! bytes and a clone may lie deep.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Cache, CacheError, Key};
use crate::command::{self, CommandError};
use crate::progress::Reporter;
use crate::state::State;

/// The keys by which nodes and this user know each other; made once a user.
#[derive(Clone, Debug)]
pub struct Keys(PathBuf);

/// How the bytes of a connection get to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Over the lab's network.
    Network,
    /// Over a serial line, where the node's kernel has no driver for the network.
    Line,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// `ssh-keygen` failed.
    #[error("cannot make the keys for the nodes")]
    Command(#[from] CommandError),
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Keys {
    /// The keys, made unless they are there.
    pub fn make(cache: &Cache, reporter: &Reporter) -> Result<Self, KeyError> {
        let folder = cache.part("ssh-keys", &Key::of(["ed25519"]), reporter, |folder| {
            for name in ["user", "node"] {
                command::read(
                    Command::new("ssh-keygen")
                        .args(["-q", "-t", "ed25519", "-N", "", "-C", "schedkit-lab", "-f"])
                        .arg(folder.join(name)),
                )?;
            }
            Ok::<(), KeyError>(())
        })?;
        Ok(Self(folder))
    }

    /// A node's own private key.
    pub fn node_key(&self) -> PathBuf {
        self.0.join("node")
    }

    /// The public key that may log in.
    pub fn user_public_key(&self) -> PathBuf {
        self.0.join("user.pub")
    }

    /// Writes which key each node has, so that a connection is refused to anybody else.
    pub fn write_known_hosts(&self, state: &State, nodes: &[Ipv4Addr]) -> io::Result<()> {
        let key = fs::read_to_string(self.0.join("node.pub"))?;
        let lines: String = nodes.iter().map(|ip| format!("{ip} {key}")).collect();
        fs::write(state.path("known_hosts"), lines)
    }

    /// The command that opens and holds the connection to a node.
    pub fn hold(&self, state: &State, node: &str, ip: Ipv4Addr, route: Route) -> Command {
        let mut ssh = ssh(state.folder(), node);
        ssh.args([
            "-M",
            "-N",
            "-o",
            "ControlPersist=no",
            "-o",
            "ConnectTimeout=10",
            "-o",
            "BatchMode=yes",
        ]);
        ssh.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6"]);
        ssh.args([
            "-o",
            "UserKnownHostsFile=known_hosts",
            "-o",
            "StrictHostKeyChecking=yes",
            "-i",
        ]);
        ssh.arg(self.0.join("user"));
        if let (Route::Line, Ok(lab)) = (route, std::env::current_exe()) {
            ssh.arg("-o")
                .arg(format!("ProxyCommand='{}' line {node}.line", lab.display()));
        }
        ssh.arg(format!("root@{ip}"));
        ssh
    }
}

/// Whether the connection to a node is open.
pub fn is_open(state: &State, node: &str) -> bool {
    ssh(state.folder(), node)
        .args(["-O", "check", node])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A command that runs `words` on a node, with this process's standard streams.
pub fn on_node(state: &State, node: &str, words: &[impl AsRef<str>]) -> Command {
    let mut ssh = ssh(state.folder(), node);
    ssh.args(only_through_the_held_connection())
        .arg("-T")
        .arg(node)
        .arg("--");
    ssh.arg(quote(words));
    ssh
}

/// A command that copies a file or folder. A path on the node is written `NODE:PATH`.
pub fn copy(state: &State, node: &str, from: &str, to: &str) -> Command {
    let mut scp = Command::new("scp");
    scp.current_dir(state.folder()).args([
        "-q",
        "-r",
        "-F",
        "none",
        "-o",
        &format!("ControlPath={node}.ssh"),
    ]);
    scp.args(only_through_the_held_connection())
        .arg("--")
        .args([from, to]);
    scp
}

fn ssh(folder: &Path, node: &str) -> Command {
    let mut ssh = Command::new("ssh");
    ssh.current_dir(folder).args([
        "-F",
        "none",
        "-S",
        &format!("{node}.ssh"),
        "-o",
        "LogLevel=ERROR",
    ]);
    ssh
}

/// Without the held connection there is no way: fail at once instead of asking the resolver.
fn only_through_the_held_connection() -> [&'static str; 4] {
    ["-o", "ProxyCommand=false", "-o", "BatchMode=yes"]
}

/// Words as a shell on the other side will take them apart again.
fn quote(words: &[impl AsRef<str>]) -> String {
    let quoted: Vec<_> = words
        .iter()
        .map(|word| format!("'{}'", word.as_ref().replace('\'', r"'\''")))
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_as_they_were_given() {
        for words in [&["echo", "a b", "$HOME", "it's", "", "*"][..], &["true"]] {
            let script = format!("printf '%s\\0' {}", quote(words));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let arrived: Vec<_> = output.stdout.split_inclusive(|byte| *byte == 0).collect();
            let sent: Vec<_> = words
                .iter()
                .map(|word| format!("{word}\0").into_bytes())
                .collect();
            assert_eq!(arrived, sent);
        }
    }
}
