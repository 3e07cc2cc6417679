//! Stop requests: from SIGTERM or SIGINT to every task of the program.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Receives a stop request.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

/// Sends a stop request to every [`Stop`].
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

pub(crate) fn pair() -> (Stopper, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits for a stop request.
    pub(crate) async fn requested(&mut self) {
        // A stopper that was dropped counts as a request too.
        let _ = self.0.wait_for(|requested| *requested).await;
    }
}

/// Waits for SIGTERM (kubelet) or SIGINT (a terminal).
pub(crate) async fn signals() -> std::io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
    }
}
