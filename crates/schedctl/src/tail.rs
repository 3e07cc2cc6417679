//! The end of what a scheduler says, kept while it is being waited for.

use schedkit_core::{SchedulerExit, sanitize};
use schedkit_runtime::OutputChunk;

/// The verifier's log can be long, and its end is what counts.
const LONGEST: usize = 256 * 1024;
/// What a person wants to see of it.
const LINES: usize = 15;
const WIDEST: usize = 400;

/// The last bytes.
#[derive(Debug, Default)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    /// Takes more, and drops what is too long ago.
    pub(crate) fn take(&mut self, piece: OutputChunk<'_>) {
        self.0.extend_from_slice(piece.bytes);
        if self.0.len() > 2 * LONGEST {
            self.0.drain(..self.0.len() - LONGEST);
        }
    }

    /// Why the scheduler is gone, as far as it said so.
    pub(crate) fn last_words(&self) -> Option<SchedulerExit> {
        SchedulerExit::parse(&self.plain())
    }

    /// Without the colours that some loggers always write.
    fn plain(&self) -> String {
        let bytes = anstream::adapter::strip_bytes(&self.0).into_vec();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines, safe to print.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = self.plain();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = lines.collect();
        let from = lines.len().saturating_sub(LINES);
        let cut = |line: &&str| sanitize::printable(&sanitize::shortened(line, WIDEST));
        lines[from..].iter().map(cut).collect()
    }
}

#[cfg(test)]
mod tests {
    use schedkit_runtime::OutputStream;

    use super::*;

    fn take(tail: &mut Tail, bytes: &[u8]) {
        let stream = OutputStream::Stderr;
        tail.take(OutputChunk { stream, bytes });
    }

    #[test]
    fn the_end_of_much_is_kept() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            take(&mut tail, format!("line {number}\n").as_bytes());
        }
        take(&mut tail, b"\x1b[31mEXIT: runnable task stall (x)\n");
        assert!(tail.0.len() <= 2 * LONGEST);
        let lines = tail.lines();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[LINES - 2], "line 99999");
        assert_eq!(lines[LINES - 1], "EXIT: runnable task stall (x)");
        let words = tail.last_words().unwrap();
        assert_eq!(words.reason, schedkit_core::ExitReason::Stall);
    }
}
