//! Asks again and again until there is an answer.

use std::time::{Duration, Instant};

use crate::error::Error;

/// How often the API server is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// `None` when the time is over.
pub(crate) async fn until<T>(
    timeout: Option<Duration>,
    mut ask: impl AsyncFnMut() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask().await? {
            return Ok(Some(answer));
        }
        if timeout.is_some_and(|timeout| begin.elapsed() >= timeout) {
            return Ok(None);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
