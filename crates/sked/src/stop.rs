//! The wish to stop, as everything in this program hears it.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Hears of the wish to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

/// Tells all.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

/// A pair of both.
pub(crate) fn pair() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    /// Tells all who hold a [`Stop`].
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits for it.
    pub(crate) async fn asked(&mut self) {
        // A stopper that is gone cannot ask any more, and nothing goes on without it.
        let _ = self.0.wait_for(|asked| *asked).await;
    }
}

/// Waits until the system asks this process to end: SIGTERM from kubelet, SIGINT from a terminal.
pub(crate) async fn signals() -> std::io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
    }
}
