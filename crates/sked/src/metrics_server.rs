//! Serves `/metrics`: over plain HTTP, or over HTTPS to clients that the cluster permits to get it.
//!
//! ```text
//! bearer token ─TokenReview▶ user ─SubjectAccessReview (get /metrics)▶ 200 | 401 | 403
//! ```

mod access;
mod certificate;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kube::Client;

use access::{Access, AccessReviewer};
pub(crate) use certificate::CertificateError;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
pub(crate) struct HttpsOptions {
    /// Folder with a certificate; without it the server creates one.
    pub(crate) certificate: Option<PathBuf>,
    /// Also offer HTTP/2.
    pub(crate) http2: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("cannot serve metrics")]
    Io(#[from] std::io::Error),
}

/// Renders the metrics of one scrape.
pub(crate) type Render = Arc<dyn Fn() -> Result<String, std::fmt::Error> + Send + Sync>;

/// Serves over plain HTTP, to everybody, until the process ends.
pub(crate) async fn serve_plain(listener: TcpListener, render: Render) -> std::io::Result<()> {
    let server = axum_server::from_tcp(listener)?.http1_only();
    server.serve(app(render).into_make_service()).await
}

/// Serves over HTTPS, to permitted clients, until the process ends.
pub(crate) async fn serve_https(
    listener: TcpListener,
    options: HttpsOptions,
    client: Client,
    render: Render,
) -> Result<(), ServeError> {
    let reviewer = Arc::new(AccessReviewer::new(client));
    let app = app(render).layer(from_fn_with_state(reviewer, guard));
    let tls = certificate::tls(options.certificate, options.http2)?;
    let mut server = axum_server::from_tcp_rustls(listener, tls)?;
    // Not to offer HTTP/2 is not enough: a client may use it without negotiation.
    if !options.http2 {
        server = server.http1_only();
    }
    Ok(server.serve(app.into_make_service()).await?)
}

fn app(render: Render) -> Router {
    Router::new()
        .route("/metrics", get(show))
        .with_state(render)
}

async fn show(State(render): State<Render>) -> Response {
    match render() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn guard(
    State(reviewer): State<Arc<AccessReviewer>>,
    request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    let token = header
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::to_owned);
    let path = request.uri().path().to_owned();
    match reviewer.review(token.as_deref(), &path).await {
        Access::Allowed => next.run(request).await,
        Access::Unknown => StatusCode::UNAUTHORIZED.into_response(),
        Access::Forbidden => StatusCode::FORBIDDEN.into_response(),
        Access::Unavailable => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
