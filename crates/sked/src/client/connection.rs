//! Connections that notice a peer which is gone: kube's own have no TCP keepalive, and a watch of
//! something that does not change would wait on a dead connection for ever.
//!
//! A connection without traffic is probed by the kernel; one with unacknowledged data is given up by
//! the kernel. Either takes less than a minute.

use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ClientBuilder, ConfigExt};
use tower::util::BoxService;
use tower::{BoxError, Layer, ServiceExt};

use super::error::ClientError;

/// Probes start after this long without traffic.
const KEEPALIVE: Duration = Duration::from_secs(15);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 4;
/// For data that the peer does not acknowledge, probes included.
const UNACKNOWLEDGED: Duration = Duration::from_secs(35);

pub(super) type Service =
    BoxService<http::Request<Body>, http::Response<hyper::body::Incoming>, BoxError>;

/// The layers of kube's default client that sked uses, on such connections.
pub(super) fn builder(config: &Config) -> Result<ClientBuilder<Service>, ClientError> {
    if let Some(proxy) = &config.proxy_url {
        let proxy = proxy.to_string();
        return Err(ClientError::Proxy { proxy });
    }
    let unusable = |error| ClientError::Unusable(Box::new(error));
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(PROBE_INTERVAL));
    tcp.set_keepalive_retries(Some(PROBES));
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    let tls = config.rustls_https_connector_with_connector(tcp);
    let mut connector = TimeoutConnector::new(tls.map_err(unusable)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    // A request that is being sent is no silence of the peer.
    connector.set_reset_reader_on_write(true);
    let client: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let client = client.map_err(BoxError::from);
    let auth = config.auth_layer().map_err(unusable)?;
    let client = tower::util::option_layer(auth).layer(client);
    // Impersonation (`as:` in a kubeconfig) is among these.
    let headers = config.extra_headers_layer().map_err(unusable)?;
    let client = headers.layer(client);
    let client = config.base_uri_layer().layer(client).boxed();
    let namespace = config.default_namespace.clone();
    Ok(ClientBuilder::new(client, namespace))
}
