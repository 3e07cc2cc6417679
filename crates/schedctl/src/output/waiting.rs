//! A note on the terminal while somebody else takes their time.

use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What is quicker needs no note.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Does the work, and says what is being waited for once it takes long.
pub(crate) async fn noted<T>(what: &str, work: impl Future<Output = T>) -> T {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let note = ProgressBar::new_spinner().with_elapsed(PATIENCE);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        note.set_style(style);
    }
    note.set_message(what.to_owned());
    note.enable_steady_tick(TICK);
    let done = work.await;
    note.finish_and_clear();
    done
}
