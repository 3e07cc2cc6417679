//! Tells systemd how a start goes, for units with `Type=notify`; see sd_notify(3). Without a
//! service manager every method does nothing. Called by `run --attach` and by the guard of a trial:
//! one process of a unit notifies.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use schedkit_core::sanitize;

/// `systemctl status` shows one line.
const MAX_STATUS: usize = 300;

/// The socket in `NOTIFY_SOCKET`, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager(Option<SocketAddr>);

impl ServiceManager {
    /// `socket` is the value of `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    pub(crate) fn at(socket: Option<OsString>) -> Self {
        let address = socket.map(|socket| address(socket.as_bytes()));
        Self(address.and_then(|address| {
            let invalid = |error| tracing::warn!("NOTIFY_SOCKET cannot be used: {error}");
            address.map_err(invalid).ok()
        }))
    }

    /// The next phase may take this long, whatever `TimeoutStartSec` says.
    pub(crate) fn starting(&self, status: &str, at_most: Duration) {
        let status = line(status);
        let limit = at_most.as_micros();
        self.send(&format!("STATUS={status}\nEXTEND_TIMEOUT_USEC={limit}"));
    }

    /// The kernel has attached the scheduler.
    pub(crate) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", line(status)));
    }

    pub(crate) fn stopping(&self, status: &str) {
        self.send(&format!("STOPPING=1\nSTATUS={}", line(status)));
    }

    /// Why it ends, or ended.
    pub(crate) fn failed(&self, reason: &str) {
        self.status(reason);
    }

    /// What it does now.
    pub(crate) fn status(&self, status: &str) {
        self.send(&format!("STATUS={}", line(status)));
    }

    /// A failure is no reason to end a scheduler: systemd's time-out decides.
    fn send(&self, message: &str) {
        let Some(address) = &self.0 else { return };
        let sent = UnixDatagram::unbound()
            .and_then(|socket| socket.send_to_addr(message.as_bytes(), address));
        if let Err(error) = sent {
            tracing::warn!("the service manager cannot be notified: {error}");
        }
    }
}

fn address(socket: &[u8]) -> io::Result<SocketAddr> {
    match socket.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(socket)),
    }
}

/// A message has one field a line.
fn line(text: &str) -> String {
    sanitize::shortened(text, MAX_STATUS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 2000];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    fn notified(manager: &ServiceManager, socket: &UnixDatagram) {
        manager.starting("pulling\nREADY=1", Duration::from_secs(2));
        manager.ready("runs");
        assert_eq!(
            received(socket),
            "STATUS=pulling READY=1\nEXTEND_TIMEOUT_USEC=2000000"
        );
        assert_eq!(received(socket), "READY=1\nSTATUS=runs");
    }

    #[test]
    fn a_path_and_an_abstract_name_are_notified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        notified(&ServiceManager::at(Some(path.into())), &socket);

        let name = format!("schedctl-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        let manager = ServiceManager::at(Some(format!("@{name}").into()));
        notified(&manager, &socket);
    }

    #[test]
    fn without_a_service_manager_nothing_happens() {
        let long = format!("/{}", "x".repeat(200));
        for socket in [None, Some("/none".into()), Some(long.into())] {
            ServiceManager::at(socket).ready("runs");
        }
    }
}
