//! The agent's servers: probes for kubelet, and metrics. Both use plain HTTP: the metrics contain no
//! secrets, and to check tokens every agent would need permissions for TokenReviews.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use super::metrics::Metrics;
use crate::metrics_server;
use crate::probe::{self, ReadyReport};

/// Why the API server may not have the current report.
#[derive(Debug)]
pub(super) struct Readiness(Mutex<Vec<String>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(Mutex::new(vec!["the agent has just started".to_owned()]))
    }
}

impl Readiness {
    pub(super) fn set(&self, missing: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    }

    fn missing(&self) -> Vec<String> {
        let missing = self.0.lock();
        missing.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves until one of them fails.
pub(super) async fn serve(
    probes: Option<TcpListener>,
    scrapes: Option<TcpListener>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
) -> std::io::Result<()> {
    let probes = async {
        match probes {
            Some(listener) => {
                let report = move || ReadyReport {
                    missing: readiness.missing(),
                    notes: Vec::new(),
                };
                probe::serve(listener, report).await
            }
            None => std::future::pending().await,
        }
    };
    let scrapes = async {
        match scrapes {
            Some(listener) => {
                let render = Arc::new(move || metrics.text());
                metrics_server::serve_plain(listener, render).await
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        failed = probes => failed,
        failed = scrapes => failed,
    }
}
