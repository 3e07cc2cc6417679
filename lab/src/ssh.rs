//! Commands on a node. The supervisor holds one ssh connection per node open, and every command
//! goes through it: a handshake with an emulated processor takes a second, a command over an open
//! connection does not.
//!
//! Socket paths are relative to the state folder, because they are limited to 108 bytes.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Cache, CacheError, Key};
use crate::command::{self, CommandError};
use crate::progress::Reporter;
use crate::state::State;

/// The ssh keys of the nodes and of this user; created once and kept in the cache.
#[derive(Clone, Debug)]
pub struct Keys(PathBuf);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Network,
    /// For a kernel without a network driver.
    SerialLine,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot create the ssh keys for the nodes")]
    Command(#[from] CommandError),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl Keys {
    /// Creates the keys unless the cache has them.
    pub fn create(cache: &Cache, reporter: &Reporter) -> Result<Self, KeyError> {
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

    /// The file of the nodes' host key.
    pub fn node_key(&self) -> PathBuf {
        self.0.join("node")
    }

    /// The file of the public key that the nodes accept.
    pub fn user_public_key(&self) -> PathBuf {
        self.0.join("user.pub")
    }

    /// Writes ssh's `known_hosts` for these nodes.
    pub fn write_known_hosts(&self, state: &State, nodes: &[Ipv4Addr]) -> io::Result<()> {
        let key = fs::read_to_string(self.0.join("node.pub"))?;
        let lines: String = nodes.iter().map(|ip| format!("{ip} {key}")).collect();
        fs::write(state.path("known_hosts"), lines)
    }

    /// The command that opens the connection to a node and holds it.
    pub fn hold(&self, state: &State, node: &str, ip: Ipv4Addr, route: Route) -> Command {
        let mut ssh = ssh(state.folder(), node);
        ssh.args([
            "-M",
            "-N",
            "-o",
            "ControlPersist=no",
            "-o",
            "ConnectTimeout=30",
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
        if let (Route::SerialLine, Ok(lab)) = (route, std::env::current_exe()) {
            ssh.arg("-o").arg(format!(
                "ProxyCommand='{}' serial-line {node}.line",
                lab.display()
            ));
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

/// Closes the connection to a node; the supervisor opens it again as soon as the node answers.
pub fn close(state: &State, node: &str) {
    // It fails if the connection is closed already.
    let _ = ssh(state.folder(), node)
        .args(["-O", "exit", node])
        .output();
}

/// A command that runs `args` on a node, with this process's standard streams.
pub fn on_node(state: &State, node: &str, args: &[impl AsRef<str>]) -> Command {
    let mut ssh = ssh(state.folder(), node);
    ssh.args(only_held_connection())
        .arg("-T")
        .arg(node)
        .arg("--");
    ssh.arg(quote(args));
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
    scp.args(only_held_connection()).arg("--").args([from, to]);
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

/// Makes ssh fail at once if the held connection is not open, instead of opening one of its own.
fn only_held_connection() -> [&'static str; 4] {
    ["-o", "ProxyCommand=false", "-o", "BatchMode=yes"]
}

/// Quotes arguments for the shell on the node.
fn quote(args: &[impl AsRef<str>]) -> String {
    let quoted: Vec<_> = args
        .iter()
        .map(|arg| format!("'{}'", arg.as_ref().replace('\'', r"'\''")))
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_shell() {
        for args in [&["echo", "a b", "$HOME", "it's", "", "*"][..], &["true"]] {
            let script = format!("printf '%s\\0' {}", quote(args));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let arrived: Vec<_> = output.stdout.split_inclusive(|byte| *byte == 0).collect();
            let sent: Vec<_> = args
                .iter()
                .map(|arg| format!("{arg}\0").into_bytes())
                .collect();
            assert_eq!(arrived, sent);
        }
    }
}
