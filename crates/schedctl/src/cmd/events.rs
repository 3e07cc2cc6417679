//! `schedctl events`: prints what the kernel attaches and detaches, as it happens.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp;
use schedkit_host::{Fact, HostRoot, Watch, WatchIntervals};

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::events::{Event, Origin};
use crate::output::{Printer, Reader};
use crate::transition::between;

/// Polls as well: uevents may be lost, and in a container none may be received.
const INTERVALS: WatchIntervals = WatchIntervals {
    poll: Duration::from_secs(1),
    settle: Duration::from_millis(20),
};

pub(super) async fn events(
    root: &HostRoot,
    interrupt: &Interrupt,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    // Ctrl-C is how it ends.
    let _hold = interrupt.hold();
    let mut watch = Watch::open(root.clone(), INTERVALS);
    if !watch.receives_events() {
        let seconds = INTERVALS.poll.as_secs();
        printer.warn(format!(
            "the kernel's events cannot be received here: polling every {seconds} s instead"
        ));
    }
    let (mut before, mut origin) = (Fact::Absent, Origin::Initial);
    loop {
        let now = tokio::select! {
            _ = interrupt.received() => return Ok(Exit::Ok),
            now = watch.next() => now,
        };
        if let Some(trouble) = now.problem() {
            bail!("/sys/kernel/sched_ext {trouble}: see `schedctl doctor`");
        }
        for transition in between(&before, &now) {
            let event = Event::new(&transition, origin, Timestamp::now());
            if printer.print_next(&event)? == Reader::Closed {
                return Ok(Exit::Ok);
            }
        }
        (before, origin) = (now, Origin::Observed);
    }
}
