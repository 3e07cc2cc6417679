//! Receives uevents from a netlink socket. Any process may send to it; only messages of the kernel are
//! accepted.
//!
//! [`crate::watch`] waits for it. No capability is needed. In a network namespace that belongs to
//! another user namespace the socket receives nothing, so the caller must poll as well.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrAny, SocketFlags, SocketType, bind, recvfrom, socket_with,
    sockopt,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::uevent::Uevent;

/// The multicast group of the kernel; udev uses another.
const KERNEL_GROUP: u32 = 1;
/// Requested receive buffer; the system may grant less.
const RECEIVE_BUFFER: usize = 1 << 20;
/// The kernel's messages have at most 2 KiB and a path.
const MAX_MESSAGE: usize = 8 * 1024;

#[derive(Debug)]
pub struct UeventStream {
    socket: AsyncFd<OwnedFd>,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    Event(Uevent),
    /// Events were lost: read the state again.
    Overflow,
}

#[derive(Debug, thiserror::Error)]
pub enum UeventStreamError {
    #[error("cannot open the socket for the kernel's events")]
    Open(#[source] io::Error),
    #[error("cannot receive the kernel's events")]
    Receive(#[source] io::Error),
}

impl UeventStream {
    /// Must be called within a tokio runtime that has I/O enabled.
    ///
    /// # Errors
    /// When the socket cannot be opened.
    pub fn open() -> Result<Self, UeventStreamError> {
        Self::try_open().map_err(UeventStreamError::Open)
    }

    fn try_open() -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
        // Best effort: a smaller buffer overflows earlier, and an overflow is reported.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
        bind(&socket, &SocketAddrNetlink::new(0, KERNEL_GROUP))?;
        Ok(Self {
            socket: register(socket)?,
            buffer: vec![0; MAX_MESSAGE],
        })
    }

    /// Waits for the next message of the kernel. Cancel-safe.
    ///
    /// # Errors
    /// When the socket fails.
    pub async fn next(&mut self) -> Result<Received, UeventStreamError> {
        loop {
            let mut ready = self
                .socket
                .readable()
                .await
                .map_err(UeventStreamError::Receive)?;
            let received = recvfrom(ready.get_inner(), &mut self.buffer[..], RecvFlags::TRUNC);
            let attempt = match received {
                Ok((_, length, sender)) => classify_message(&self.buffer, length, sender),
                Err(errno) => classify_error(errno),
            };
            match attempt {
                Attempt::Done(notice) => return Ok(notice),
                Attempt::Again => {}
                Attempt::Drained => ready.clear_ready(),
                Attempt::Failed(errno) => return Err(UeventStreamError::Receive(errno.into())),
            }
        }
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe, for types that change their descriptor; an OwnedFd cannot"
)]
fn register(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(socket, Interest::READABLE)
}

/// The result of one attempt to receive.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Done(Received),
    Again,
    Drained,
    Failed(Errno),
}

/// Accepts only the kernel, whose port is 0 and cannot be bound by others.
fn classify_message(buffer: &[u8], length: usize, sender: Option<SocketAddrAny>) -> Attempt {
    let port = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
    if port.is_none_or(|address| address.pid() != 0) {
        return Attempt::Again;
    }
    match buffer.get(..length) {
        Some(message) => match Uevent::parse(message) {
            Some(event) => Attempt::Done(Received::Event(event)),
            None => Attempt::Again,
        },
        None => Attempt::Done(Received::Overflow),
    }
}

fn classify_error(errno: Errno) -> Attempt {
    match errno {
        Errno::AGAIN => Attempt::Drained,
        Errno::INTR => Attempt::Again,
        Errno::NOBUFS => Attempt::Done(Received::Overflow),
        other => Attempt::Failed(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::net::{SendFlags, getsockname, sendto};

    use super::*;

    const EVENT: &[u8] = b"add@/kernel/sched_ext/root\0SUBSYSTEM=sched_ext\0SCXOPS=lab\0";

    fn from(port: u32) -> Option<SocketAddrAny> {
        Some(SocketAddrNetlink::new(port, 0).into())
    }

    #[test]
    fn only_the_kernel_is_accepted() {
        let attempt = classify_message(EVENT, EVENT.len(), from(0));
        assert!(
            matches!(attempt, Attempt::Done(Received::Event(_))),
            "{attempt:?}"
        );
        assert_eq!(
            classify_message(EVENT, EVENT.len(), from(4711)),
            Attempt::Again
        );
        assert_eq!(classify_message(EVENT, EVENT.len(), None), Attempt::Again);
    }

    #[test]
    fn a_truncated_message_is_an_overflow() {
        assert_eq!(
            classify_message(EVENT, EVENT.len() + 1, from(0)),
            Attempt::Done(Received::Overflow)
        );
        assert_eq!(
            classify_error(Errno::NOBUFS),
            Attempt::Done(Received::Overflow)
        );
        assert_eq!(classify_error(Errno::AGAIN), Attempt::Drained);
        assert_eq!(classify_error(Errno::INTR), Attempt::Again);
        assert_eq!(classify_error(Errno::BADF), Attempt::Failed(Errno::BADF));
    }

    /// Sends a forged message to a real socket, where the machine allows both.
    #[tokio::test]
    async fn a_forged_message_is_ignored() {
        let Ok(mut stream) = UeventStream::open() else {
            return;
        };
        let own: SocketAddrNetlink = getsockname(stream.socket.get_ref())
            .unwrap()
            .try_into()
            .unwrap();
        let family = AddressFamily::NETLINK;
        let flags = SocketFlags::CLOEXEC;
        let forger = socket_with(family, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT)).unwrap();
        let target = SocketAddrNetlink::new(own.pid(), 0);
        let forged = b"add@/kernel/sched_ext/root\0SUBSYSTEM=sched_ext\0SCXOPS=forger\0";
        let sent = sendto(&forger, forged, SendFlags::empty(), &target);
        let accepted = tokio::time::timeout(Duration::from_millis(300), async {
            loop {
                if let Received::Event(event) = stream.next().await.unwrap()
                    && event.ops().is_some_and(|ops| ops.as_str() == "forger")
                {
                    break;
                }
            }
        });
        assert!(
            accepted.await.is_err(),
            "accepted a forged event, sent with {sent:?}"
        );
    }
}
