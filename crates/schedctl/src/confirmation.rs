//! A question on the terminal.

use std::io::{self, IsTerminal, Write};

/// Without a terminal the answer is no.
pub(crate) async fn ask(question: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    write!(io::stderr(), "{question} [y/N] ")?;
    // In a thread: a signal must be heard meanwhile.
    let reading = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).map(|_| answer)
    });
    let answer = reading.await??;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
