//! `schedctl events`: what the kernel attaches and detaches, as it happens.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp;
use schedkit_host::{Fact, HostRoot, Watch, WatchIntervals};

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::events::{Happening, Seen};
use crate::output::{Printer, Reader};
use crate::transition::between;

/// Events may be lost, and may not be heard at all in a container.
const PACE: WatchIntervals = WatchIntervals {
    poll: Duration::from_secs(1),
    settle: Duration::from_millis(20),
};

pub(super) async fn events(root: &HostRoot, printer: &mut Printer) -> anyhow::Result<Exit> {
    let mut interrupt = Interrupt::listen()?;
    let mut watch = Watch::open(root.clone(), PACE);
    if !watch.receives_events() {
        let seconds = PACE.poll.as_secs();
        printer.warn(format!(
            "the kernel's events cannot be heard here: looking every {seconds} s instead"
        ));
    }
    let (mut before, mut seen) = (Fact::Absent, Seen::Before);
    loop {
        let now = tokio::select! {
            () = interrupt.heard() => return Ok(Exit::Ok),
            now = watch.next() => now,
        };
        if let Some(trouble) = now.problem() {
            bail!("/sys/kernel/sched_ext {trouble}: see `schedctl doctor`");
        }
        for transition in between(&before, &now) {
            let happening = Happening::of(&transition, seen, Timestamp::now());
            if printer.print_next(&happening)? == Reader::Gone {
                return Ok(Exit::Ok);
            }
        }
        (before, seen) = (now, Seen::Now);
    }
}
