//! `rest_client_requests_total`: requests to the API server, with the meaning of client-go's metric.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::client::FinishedRequest;

/// The code of a request without a response, as in client-go.
const NO_RESPONSE: &str = "<error>";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    code: String,
    method: String,
    host: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RequestMetrics(Family<OfRequest, Counter>);

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "rest_client_requests",
            "Requests to the API server by status code, method and host",
            metrics.0.clone(),
        );
        metrics
    }

    /// A watch counts when its response begins.
    pub(super) fn count(&self, request: &FinishedRequest<'_>) {
        let FinishedRequest {
            method,
            host,
            status,
        } = request;
        let of = OfRequest {
            code: status.map_or_else(|| NO_RESPONSE.to_owned(), |status| status.to_string()),
            method: (*method).to_owned(),
            host: (*host).to_owned(),
        };
        self.0.get_or_create(&of).inc();
    }
}
