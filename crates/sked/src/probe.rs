//! `/healthz` and `/readyz`, for kubelet. Alive is whoever answers; ready is who has filled
//! caches, leader or not: a manager that waits for the lease is as ready as it can be.

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use crate::health::Health;

/// Answers until the process ends.
pub(crate) async fn serve(listener: TcpListener, health: Arc<Health>) -> std::io::Result<()> {
    let ready = move || {
        let missing = health.missing();
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
