//! The end of a scheduler's output, kept while it starts.

use schedkit_core::{SchedulerExit, meaningful_lines, sanitize};
use schedkit_runtime::OutputChunk;

/// The verifier's log can be long; its end has the reason.
const MAX_BYTES: usize = 256 * 1024;
/// Shown to people.
const MAX_LINES: usize = 15;
const MAX_WIDTH: usize = 400;

#[derive(Debug, Default)]
pub(crate) struct OutputTail(Vec<u8>);

impl OutputTail {
    pub(crate) fn take(&mut self, piece: OutputChunk<'_>) {
        self.0.extend_from_slice(piece.bytes);
        if self.0.len() > 2 * MAX_BYTES {
            self.0.drain(..self.0.len() - MAX_BYTES);
        }
    }

    /// The scheduler's report of why it exited, if there is one.
    pub(crate) fn exit_report(&self) -> Option<SchedulerExit> {
        SchedulerExit::parse(&self.plain())
    }

    /// Without colours.
    fn plain(&self) -> String {
        let bytes = anstream::adapter::strip_bytes(&self.0).into_vec();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Printable; after a panic without the backtrace, so that its message is among them.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let text = self.plain();
        let lines = meaningful_lines(&text);
        let from = lines.len().saturating_sub(MAX_LINES);
        let cut = |line: &&str| sanitize::printable(&sanitize::shortened(line, MAX_WIDTH));
        lines[from..].iter().map(cut).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schedkit_runtime::OutputStream;

    use super::*;

    fn take(tail: &mut OutputTail, bytes: &[u8]) {
        let stream = OutputStream::Stderr;
        tail.take(OutputChunk { stream, bytes });
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let mut tail = OutputTail::default();
        for number in 0..100_000 {
            take(&mut tail, format!("line {number}\n").as_bytes());
        }
        take(&mut tail, b"\x1b[31mEXIT: runnable task stall (x)\n");
        assert!(tail.0.len() <= 2 * MAX_BYTES);
        let lines = tail.last_lines();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[MAX_LINES - 2], "line 99999");
        assert_eq!(lines[MAX_LINES - 1], "EXIT: runnable task stall (x)");
        let report = tail.exit_report().unwrap();
        assert_eq!(report.reason, schedkit_core::ExitReason::Stall);
    }

    #[test]
    fn a_backtrace_does_not_displace_the_message_of_a_panic() {
        let mut tail = OutputTail::default();
        let message = "called `Result::unwrap()` on an `Err` value: No debugfs mount found";
        take(
            &mut tail,
            b"\nthread 'main' (7) panicked at src/main.rs:237:44:\n",
        );
        take(
            &mut tail,
            format!("{message}\nstack backtrace:\n").as_bytes(),
        );
        for frame in 0..2 * MAX_LINES {
            take(&mut tail, format!("  {frame:2}: <unknown>\n").as_bytes());
        }
        take(
            &mut tail,
            b"note: Some details are omitted, run with `RUST_BACKTRACE=full`\n",
        );
        assert_eq!(tail.last_lines().last().unwrap(), message);
    }

    #[test]
    fn a_line_of_ten_megabytes_is_cut() {
        let mut tail = OutputTail::default();
        for _ in 0..160 {
            take(&mut tail, &[b'x'; 64 * 1024]);
            assert!(tail.0.len() <= 2 * MAX_BYTES);
        }
        assert!(tail.0.capacity() <= 4 * MAX_BYTES, "{}", tail.0.capacity());
        let lines = tail.last_lines();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].chars().count() <= MAX_WIDTH + 1);
    }

    proptest! {
        #[test]
        fn whatever_a_scheduler_writes_its_last_lines_are_printable(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8),
        ) {
            let mut tail = OutputTail::default();
            for piece in &pieces {
                take(&mut tail, piece);
            }
            for line in tail.last_lines() {
                prop_assert!(!line.contains(sanitize::is_unsafe), "{:?}", line);
            }
            if let Some(report) = tail.exit_report() {
                let text = report.reason.to_string();
                prop_assert!(!text.contains(sanitize::is_unsafe), "{:?}", text);
            }
        }
    }
}
