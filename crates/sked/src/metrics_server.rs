//! `/metrics`: over HTTPS, to those whom the cluster allows to get it.
//!
//! ```text
//! bearer token ─TokenReview▶ who ─SubjectAccessReview (get /metrics)▶ 200 | 401 | 403
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

use crate::metrics::{Metrics, Snapshot};

use access::{Access, Gate};
pub(crate) use certificate::CertificateError;

/// What the text on the wire is called.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How the metrics are served.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Over HTTPS, with a look at who asks.
    pub(crate) secure: bool,
    /// Folder of a certificate that somebody else cares for.
    pub(crate) certificate: Option<PathBuf>,
    /// HTTP/2 too.
    pub(crate) http2: bool,
}

/// Why metrics are not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// No usable certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The listener broke.
    #[error("cannot serve metrics")]
    Io(#[from] std::io::Error),
}

/// Looks up what is looked up only when somebody asks.
pub(crate) type Look = dyn Fn() -> Snapshot + Send + Sync;

#[derive(Clone)]
struct Shown {
    metrics: Arc<Metrics>,
    look: Arc<Look>,
}

/// Serves until the process ends.
pub(crate) async fn serve(
    listener: TcpListener,
    settings: Settings,
    client: Client,
    metrics: Arc<Metrics>,
    look: Arc<Look>,
) -> Result<(), ServeError> {
    let app = Router::new()
        .route("/metrics", get(show))
        .with_state(Shown { metrics, look });
    if !settings.secure {
        let server = axum_server::from_tcp(listener)?.http1_only();
        return Ok(server.serve(app.into_make_service()).await?);
    }
    let gate = Arc::new(Gate::new(client));
    let app = app.layer(from_fn_with_state(gate, guard));
    let tls = certificate::tls(settings.certificate, settings.http2)?;
    let mut server = axum_server::from_tcp_rustls(listener, tls)?;
    // Not to offer it is not enough: a client may speak it without having asked.
    if !settings.http2 {
        server = server.http1_only();
    }
    Ok(server.serve(app.into_make_service()).await?)
}

async fn show(State(shown): State<Shown>) -> Response {
    match shown.metrics.text(&(shown.look)()) {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(header::AUTHORIZATION);
    let token = header
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .map(str::to_owned);
    let path = request.uri().path().to_owned();
    match gate.ask(token.as_deref(), &path).await {
        Access::Allowed => next.run(request).await,
        Access::Unknown => StatusCode::UNAUTHORIZED.into_response(),
        Access::Forbidden => StatusCode::FORBIDDEN.into_response(),
        Access::Unasked => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
