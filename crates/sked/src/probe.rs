//! `/healthz` and `/readyz`, for kubelet. Alive is whoever answers; a manager is ready when it has
//! filled caches, leader or not: one that waits for the lease is as ready as it can be. An agent is
//! ready while its report can be believed.

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use crate::health::Health;

/// Answers until the process ends.
pub(crate) async fn serve(listener: TcpListener, health: Arc<Health>) -> std::io::Result<()> {
    serve_with(listener, move || health.missing()).await
}

/// The same for whoever knows by itself what is missing, in sentences.
pub(crate) async fn serve_with(
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
