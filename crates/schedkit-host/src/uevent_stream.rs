//! The kernel's messages as they come: a netlink socket that anybody may open and only the kernel
//! is believed on.
//!
//! [`crate::watch`] waits here. No capability is needed. A network namespace that belongs to a
//! user namespace of its own hears nothing, which looks like silence: whoever waits also polls.

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

/// The group that the kernel itself sends to; udev's is another.
const FROM_KERNEL: u32 = 1;
/// Room for a storm of events; the system may grant less.
const ROOM: usize = 1 << 20;
/// The kernel's messages have at most 2 KiB and a path.
const LONGEST: usize = 8 * 1024;

/// An open ear.
#[derive(Debug)]
pub struct UeventStream {
    socket: AsyncFd<OwnedFd>,
    buffer: Vec<u8>,
}

/// What was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// This happened.
    Event(Uevent),
    /// More happened than there was room for: look for yourself.
    Missed,
}

/// Why nothing can be heard.
#[derive(Debug, thiserror::Error)]
pub enum UeventStreamError {
    /// The system gives no such socket.
    #[error("cannot listen to the kernel's events")]
    Open(#[source] io::Error),
    /// It gave one that fails.
    #[error("cannot go on listening to the kernel's events")]
    Receive(#[source] io::Error),
}

impl UeventStream {
    /// Begins to listen. Must be called within a tokio runtime that has I/O enabled.
    ///
    /// # Errors
    /// When the system gives no such socket.
    pub fn open() -> Result<Self, UeventStreamError> {
        Self::try_open().map_err(UeventStreamError::Open)
    }

    fn try_open() -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
        // Best effort: with less room a storm is missed earlier, and being missed is a value.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, ROOM);
        bind(&socket, &SocketAddrNetlink::new(0, FROM_KERNEL))?;
        Ok(Self {
            socket: register(socket)?,
            buffer: vec![0; LONGEST],
        })
    }

    /// Waits for the next message of the kernel's. May be dropped while waiting; nothing is lost.
    ///
    /// # Errors
    /// When the socket fails for good.
    pub async fn next(&mut self) -> Result<Notice, UeventStreamError> {
        loop {
            let mut ready = self
                .socket
                .readable()
                .await
                .map_err(UeventStreamError::Receive)?;
            let received = recvfrom(ready.get_inner(), &mut self.buffer[..], RecvFlags::TRUNC);
            let step = match received {
                Ok((_, length, sender)) => judge(&self.buffer, length, sender),
                Err(errno) => fate(errno),
            };
            match step {
                Step::Told(notice) => return Ok(notice),
                Step::Again => {}
                Step::Drained => ready.clear_ready(),
                Step::Failed(errno) => return Err(UeventStreamError::Receive(errno.into())),
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

/// What to do after one attempt to receive.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Told(Notice),
    Again,
    Drained,
    Failed(Errno),
}

/// Believes only the kernel, whose port is 0 and cannot be taken by anybody.
fn judge(buffer: &[u8], length: usize, sender: Option<SocketAddrAny>) -> Step {
    let port = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
    if port.is_none_or(|address| address.pid() != 0) {
        return Step::Again;
    }
    match buffer.get(..length) {
        Some(message) => match Uevent::parse(message) {
            Some(event) => Step::Told(Notice::Event(event)),
            None => Step::Again,
        },
        None => Step::Told(Notice::Missed),
    }
}

fn fate(errno: Errno) -> Step {
    match errno {
        Errno::AGAIN => Step::Drained,
        Errno::INTR => Step::Again,
        Errno::NOBUFS => Step::Told(Notice::Missed),
        other => Step::Failed(other),
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
    fn only_the_kernel_is_believed() {
        let told = judge(EVENT, EVENT.len(), from(0));
        assert!(matches!(told, Step::Told(Notice::Event(_))), "{told:?}");
        assert_eq!(judge(EVENT, EVENT.len(), from(4711)), Step::Again);
        assert_eq!(judge(EVENT, EVENT.len(), None), Step::Again);
    }

    #[test]
    fn what_did_not_fit_was_missed() {
        assert_eq!(
            judge(EVENT, EVENT.len() + 1, from(0)),
            Step::Told(Notice::Missed)
        );
        assert_eq!(fate(Errno::NOBUFS), Step::Told(Notice::Missed));
        assert_eq!(fate(Errno::AGAIN), Step::Drained);
        assert_eq!(fate(Errno::INTR), Step::Again);
        assert_eq!(fate(Errno::BADF), Step::Failed(Errno::BADF));
    }

    /// A real socket, where the machine gives one, and a real liar, where it lets one speak.
    #[tokio::test]
    async fn a_process_that_plays_kernel_is_not_heard() {
        let Ok(mut stream) = UeventStream::open() else {
            return;
        };
        let own: SocketAddrNetlink = getsockname(stream.socket.get_ref())
            .unwrap()
            .try_into()
            .unwrap();
        let family = AddressFamily::NETLINK;
        let flags = SocketFlags::CLOEXEC;
        let liar = socket_with(family, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT)).unwrap();
        let target = SocketAddrNetlink::new(own.pid(), 0);
        let lied = b"add@/kernel/sched_ext/root\0SUBSYSTEM=sched_ext\0SCXOPS=liar\0";
        let sent = sendto(&liar, lied, SendFlags::empty(), &target);
        let heard = tokio::time::timeout(Duration::from_millis(300), async {
            loop {
                if let Notice::Event(event) = stream.next().await.unwrap()
                    && event.ops().is_some_and(|ops| ops.as_str() == "liar")
                {
                    break;
                }
            }
        });
        assert!(heard.await.is_err(), "heard a lie, sent with {sent:?}");
    }
}
