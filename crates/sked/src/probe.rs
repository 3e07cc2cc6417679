//! Serves `/healthz` and `/readyz` for kubelet. `/healthz` always succeeds. The manager is ready when
//! its caches are filled, whether it is the leader or not; the agent is ready while the API server
//! has its current report.

use std::net::TcpListener;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

/// What `/readyz` responds.
#[derive(Debug, Default)]
pub(crate) struct ReadyReport {
    /// What keeps the process from being ready.
    pub(crate) missing: Vec<String>,
    /// What is not as it should be, and does not keep it from being ready.
    pub(crate) notes: Vec<String>,
}

/// Serves until the process ends.
pub(crate) async fn serve(
    listener: TcpListener,
    readiness: impl Fn() -> ReadyReport + Clone + Send + Sync + 'static,
) -> std::io::Result<()> {
    let ready = move || {
        let ReadyReport { missing, notes } = readiness();
        async move {
            let (status, word) = match missing.is_empty() {
                true => (StatusCode::OK, "ok"),
                false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
            };
            let lines = [word.to_owned()].into_iter().chain(missing).chain(notes);
            let lines = lines.map(|line| line + "\n");
            (status, lines.collect::<String>())
        }
    };
    let app = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready));
    let server = axum_server::from_tcp(listener)?.http1_only();
    server.serve(app.into_make_service()).await
}
