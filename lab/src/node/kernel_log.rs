//! A node's kernel log with the kernel's own time stamps, which resolve attaching and detaching to
//! less than a millisecond.

use std::time::Duration;

use super::access::Node;
use super::error::NodeError;

/// One line of the kernel's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLine {
    /// Time since the kernel started.
    pub at: Duration,
    pub text: String,
}

impl KernelLine {
    /// Parses a line as `dmesg` prints it: `[   51.484479] text`.
    pub fn parse(line: &str) -> Option<Self> {
        let (time, text) = line.strip_prefix('[')?.split_once("] ")?;
        let (seconds, micros) = time.trim().split_once('.')?;
        let at = Duration::from_secs(seconds.parse().ok()?)
            + Duration::from_micros(micros.parse().ok().filter(|_| micros.len() == 6)?);
        Some(Self {
            at,
            text: text.to_owned(),
        })
    }
}

impl Node<'_> {
    /// Writes a line to the kernel's log and returns it with its time: the time zero of a test.
    pub fn mark(&self, text: &str) -> Result<KernelLine, NodeError> {
        let script = format!("echo 'lab: {text}' >/dev/kmsg");
        self.must(&script)?;
        let lines = self.kernel_log()?;
        let ours = |line: &KernelLine| line.text == format!("lab: {text}");
        lines
            .into_iter()
            .rfind(ours)
            .ok_or_else(|| NodeError::Failed {
                node: self.name().to_owned(),
                command: script,
                status: 0,
                output: "the kernel's log does not have the line".to_owned(),
            })
    }

    /// The kernel's log since the start or since it was cleared.
    pub fn kernel_log(&self) -> Result<Vec<KernelLine>, NodeError> {
        let text = self.must("dmesg")?;
        Ok(text.lines().filter_map(KernelLine::parse).collect())
    }

    /// Waits for the first line after `mark` that contains `text`, such as
    /// `sched_ext: BPF scheduler "lab" enabled`.
    pub fn await_kernel(
        &self,
        mark: &KernelLine,
        text: &str,
        timeout: Duration,
    ) -> Result<KernelLine, NodeError> {
        let later = |line: &KernelLine| line.at > mark.at && line.text.contains(text);
        self.eventually(&format!("the kernel logs {text:?}"), timeout, || {
            Ok(self.kernel_log()?.into_iter().find(later))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_time_and_a_text() {
        let line = KernelLine::parse("[   63.801196] sched_ext: BPF scheduler \"lab\" enabled");
        let line = line.unwrap();
        assert_eq!(line.at, Duration::from_micros(63_801_196));
        assert_eq!(line.text, "sched_ext: BPF scheduler \"lab\" enabled");
        for bad in ["", "[ 1.2] x", "[    1.000000]x", "no time", "[x.000000] y"] {
            assert_eq!(KernelLine::parse(bad), None, "{bad:?}");
        }
    }
}
