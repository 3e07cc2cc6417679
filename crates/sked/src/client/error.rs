//! Why there is no client.

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        file: String,
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// No kubeconfig was named or found, and this is no pod.
    #[error(
        "no cluster found: run in a pod with a service account, or name a file with --kubeconfig or KUBECONFIG"
    )]
    NotConfigured(#[source] Box<kube::config::InferConfigError>),
    /// The TLS or authentication settings are invalid.
    #[error("cannot create a client from the cluster's configuration")]
    Unusable(#[source] Box<kube::Error>),
    #[error(
        "the API server is to be reached through the proxy {proxy}, and sked connects directly: remove \
         proxy-url from the kubeconfig, or HTTPS_PROXY from the environment"
    )]
    Proxy { proxy: String },
}
