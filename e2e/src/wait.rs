//! Waiting for something to happen. The limits are generous: other work shares the processors, and
//! a test that gives up early fails by chance.

use std::time::{Duration, Instant};

/// For what a process on this machine does.
pub const TIMEOUT: Duration = Duration::from_secs(180);
/// For what happens on nodes: their processors are emulated.
pub const NODE_TIMEOUT: Duration = Duration::from_secs(400);

/// Asks until there is an answer; when none comes, `explain` adds what is known.
#[track_caller]
pub fn eventually_or<T>(
    what: &str,
    timeout: Duration,
    mut ask: impl FnMut() -> Option<T>,
    explain: impl FnOnce() -> String,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        if begin.elapsed() >= timeout {
            panic!("{what}: not within {timeout:?}\n{}", explain());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[track_caller]
pub fn eventually<T>(what: &str, timeout: Duration, ask: impl FnMut() -> Option<T>) -> T {
    eventually_or(what, timeout, ask, String::new)
}
