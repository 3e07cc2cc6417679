//! What others may ask an agent: kubelet whether it is alive and its report can be believed, a
//! scraper for metrics. Plain HTTP: there is no secret in it, and so no right to ask about tokens
//! is needed on every node.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::metrics::Metrics;
use crate::metrics_server::OPEN_METRICS;
use crate::probe;

/// What stands between the API server's report and the truth, as it was told last.
#[derive(Debug)]
pub(super) struct Readiness(Mutex<Vec<String>>);

impl Default for Readiness {
    fn default() -> Self {
        Self(Mutex::new(vec!["it has just begun".to_owned()]))
    }
}

impl Readiness {
    /// It has changed.
    pub(super) fn tell(&self, missing: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    }

    fn missing(&self) -> Vec<String> {
        let missing = self.0.lock();
        missing.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers until one of them fails.
pub(super) async fn serve(
    probes: Option<TcpListener>,
    scrapes: Option<TcpListener>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
) -> std::io::Result<()> {
    let probes = async {
        match probes {
            Some(listener) => probe::serve_with(listener, move || readiness.missing()).await,
            None => std::future::pending().await,
        }
    };
    let scrapes = async {
        match scrapes {
            Some(listener) => serve_metrics(listener, metrics).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        failed = probes => failed,
        failed = scrapes => failed,
    }
}

async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) -> std::io::Result<()> {
    let show = move || {
        let answer = answer(&metrics);
        async { answer }
    };
    let app = Router::new().route("/metrics", get(show));
    let server = axum_server::from_tcp(listener)?.http1_only();
    server.serve(app.into_make_service()).await
}

fn answer(metrics: &Metrics) -> Response {
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
