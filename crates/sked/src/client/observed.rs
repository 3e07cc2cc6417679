//! A layer around the client's HTTP service that reports every finished request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower::{Layer, Service};

/// A request that got a response, or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinishedRequest<'a> {
    pub(crate) method: &'a str,
    /// Host and port of the API server.
    pub(crate) host: &'a str,
    /// The status code; `None` without a response.
    pub(crate) status: Option<u16>,
}

/// Called for every finished request.
pub(crate) type RequestObserver = Arc<dyn Fn(&FinishedRequest<'_>) + Send + Sync>;

#[derive(Clone)]
pub(super) struct ObserveRequests {
    pub(super) host: Arc<str>,
    pub(super) observer: RequestObserver,
}

pub(super) struct ObservedService<S> {
    inner: S,
    observe: ObserveRequests,
}

impl<S> Layer<S> for ObserveRequests {
    type Service = ObservedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ObservedService {
            inner,
            observe: self.clone(),
        }
    }
}

impl<S, Body, ResponseBody> Service<Request<Body>> for ObservedService<S>
where
    S: Service<Request<Body>, Response = Response<ResponseBody>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = request.method().clone();
        let response = self.inner.call(request);
        let ObserveRequests { host, observer } = self.observe.clone();
        Box::pin(async move {
            let response = response.await;
            observer(&FinishedRequest {
                method: method.as_str(),
                host: &host,
                status: response.as_ref().ok().map(|one| one.status().as_u16()),
            });
            response
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test]
    async fn responses_and_failures_are_reported() {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let record = Arc::clone(&seen);
        let observe = ObserveRequests {
            host: "10.0.0.1:443".into(),
            observer: Arc::new(move |request: &FinishedRequest<'_>| {
                let FinishedRequest {
                    method,
                    host,
                    status,
                } = request;
                let line = format!("{method} {host} {status:?}");
                record.lock().unwrap().push(line);
            }),
        };
        for status in [Some(409), None] {
            let inner = service_fn(move |_: Request<()>| async move {
                match status {
                    Some(status) => Ok(Response::builder().status(status).body(()).unwrap()),
                    None => Err("refused"),
                }
            });
            let request = Request::put("/").body(()).unwrap();
            let response = observe.layer(inner).oneshot(request).await;
            assert_eq!(response.is_ok(), status.is_some());
        }
        let expected = ["PUT 10.0.0.1:443 Some(409)", "PUT 10.0.0.1:443 None"];
        assert_eq!(*seen.lock().unwrap(), expected);
    }
}
