//! An HTTP proxy before the API server that injects faults: errors instead of answers, watches that
//! break off, no API server at all, or a manager that is to be killed at each of its writes.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use http::{Method, StatusCode};
use kube::Client;
use serde_json::json;

use testkit::seed::Seed;
use tokio::sync::Notify;

#[derive(Clone, Copy)]
pub(crate) struct Faults {
    /// In percent of requests.
    errors: u64,
    broken_watches: u64,
    away: bool,
    /// No write is answered: every other one is lost, and the rest take effect.
    no_write_returns: bool,
}

impl Faults {
    pub(crate) const MANY: Self = Self {
        errors: 25,
        broken_watches: 50,
        ..Self::NONE
    };
    pub(crate) const AWAY: Self = Self {
        away: true,
        ..Self::NONE
    };
    pub(crate) const NO_WRITE_RETURNS: Self = Self {
        no_write_returns: true,
        ..Self::NONE
    };
    const NONE: Self = Self {
        errors: 0,
        broken_watches: 0,
        away: false,
        no_write_returns: false,
    };
}

#[derive(Clone)]
pub(crate) struct Proxy {
    client: Client,
    faults: Arc<Mutex<Faults>>,
    seed: Arc<Mutex<Seed>>,
    injected: Arc<AtomicUsize>,
    /// A write that is not answered was made, or lost.
    write: Arc<Notify>,
    port: u16,
}

impl Proxy {
    pub(crate) async fn start(client: &Client) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            client: client.clone(),
            faults: Arc::new(Mutex::new(Faults::AWAY)),
            seed: Arc::new(Mutex::new(Seed::from_environment())),
            injected: Arc::default(),
            write: Arc::default(),
            port: listener.local_addr().unwrap().port(),
        };
        let router = Router::new().fallback(forward).with_state(proxy.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        proxy
    }

    pub(crate) fn inject(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
    }

    pub(crate) fn injected(&self) -> usize {
        self.injected.load(Ordering::Relaxed)
    }

    /// Until a write was made, or lost, that is not answered.
    pub(crate) async fn write(&self) {
        self.write.notified().await;
    }

    /// Writes a kubeconfig that goes through this proxy.
    pub(crate) fn kubeconfig(&self, path: &Path) {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": format!("http://127.0.0.1:{}", self.port)}}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        });
        std::fs::write(path, config.to_string()).unwrap();
    }

    fn below(&self, end: u64) -> u64 {
        self.seed.lock().unwrap().below(end)
    }

    fn count(&self) {
        self.injected.fetch_add(1, Ordering::Relaxed);
    }

    async fn no_answer(&self) -> Response {
        self.write.notify_one();
        std::future::pending().await
    }
}

async fn forward(State(proxy): State<Proxy>, request: Request) -> Response {
    let faults = *proxy.faults.lock().unwrap();
    if faults.away {
        proxy.count();
        return failure(StatusCode::SERVICE_UNAVAILABLE);
    }
    let watch = request
        .uri()
        .query()
        .is_some_and(|query| query.contains("watch=true"));
    if !watch && proxy.below(100) < faults.errors {
        proxy.count();
        let read = request.method() == Method::GET;
        let codes = [
            StatusCode::INTERNAL_SERVER_ERROR,
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::CONFLICT,
        ];
        return failure(codes[proxy.below(if read { 2 } else { 3 }) as usize]);
    }
    let dies = faults.no_write_returns && is_write(&request);
    if dies {
        proxy.count();
        if proxy.injected().is_multiple_of(2) {
            return proxy.no_answer().await;
        }
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 1 << 22).await else {
        return failure(StatusCode::BAD_REQUEST);
    };
    let request = http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    let Ok(answer) = proxy.client.send(request).await else {
        return failure(StatusCode::BAD_GATEWAY);
    };
    if dies {
        return proxy.no_answer().await;
    }
    let (parts, body) = answer.into_parts();
    let body = Body::new(body);
    if watch && proxy.below(100) < faults.broken_watches {
        proxy.count();
        let life = Duration::from_millis(proxy.below(3000));
        let pieces = body.into_data_stream().take_until(tokio::time::sleep(life));
        return Response::from_parts(parts, Body::from_stream(pieces));
    }
    Response::from_parts(parts, body)
}

/// Whether it changes an object: neither a question about rights nor an attempt without effect.
fn is_write(request: &Request) -> bool {
    let uri = request.uri();
    let is_attempt = uri.query().is_some_and(|query| query.contains("dryRun"));
    let is_question = uri.path().ends_with("reviews");
    request.method() != Method::GET && !is_attempt && !is_question
}

/// A Status as the API server writes it.
fn failure(code: StatusCode) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "injected by the proxy", "reason": "Injected", "code": code.as_u16(),
    });
    (
        code,
        [("content-type", "application/json")],
        status.to_string(),
    )
        .into_response()
}
