//! Serves `/healthz` and `/readyz` for kubelet. `/healthz` always succeeds. The manager is ready when
//! its caches are filled, whether it is the leader or not; the agent is ready while the API server
//! has its current report.

use std::net::TcpListener;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

/// Serves until the process ends. `missing` lists what keeps the process from being ready.
pub(crate) async fn serve(
    listener: TcpListener,
    missing: impl Fn() -> Vec<String> + Clone + Send + Sync + 'static,
) -> std::io::Result<()> {
    let ready = move || {
        let missing = missing();
        async move {
            match missing.is_empty() {
                true => (StatusCode::OK, "ok\n".to_owned()),
                false => (
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("not ready\n{}\n", missing.join("\n")),
                ),
            }
        }
    };
    let app = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready));
    let server = axum_server::from_tcp(listener)?.http1_only();
    server.serve(app.into_make_service()).await
}
