//! The Kubernetes client of all subcommands.
//!
//! It has no rate limit of its own: the API server's priority and fairness controls the load. It
//! does not retry requests: the caller decides, and a write must not start after the right to write
//! has expired.

mod observed;

use std::path::Path;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use observed::ObserveRequests;

pub(crate) use observed::{FinishedRequest, RequestObserver};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
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
}

/// Without a file it uses KUBECONFIG, `~/.kube/config` or the pod's service account.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ClientError> {
    let config = config(kubeconfig).await?;
    Client::try_from(config).map_err(unusable)
}

/// The same, with an observer of every request.
pub(crate) async fn connect_observed(
    kubeconfig: Option<&Path>,
    observer: RequestObserver,
) -> Result<Client, ClientError> {
    let config = config(kubeconfig).await?;
    let authority = config.cluster_url.authority();
    let observe = ObserveRequests {
        host: authority.map_or("", |authority| authority.as_str()).into(),
        observer,
    };
    let builder = ClientBuilder::try_from(config).map_err(unusable)?;
    Ok(builder.with_layer(&observe).build())
}

fn unusable(error: kube::Error) -> ClientError {
    ClientError::Unusable(Box::new(error))
}

async fn config(kubeconfig: Option<&Path>) -> Result<Config, ClientError> {
    let mut config = match kubeconfig {
        Some(file) => from_file(file).await?,
        None => Config::infer()
            .await
            .map_err(|error| ClientError::NotConfigured(Box::new(error)))?,
    };
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    config.default_retry = false;
    Ok(config)
}

async fn from_file(file: &Path) -> Result<Config, ClientError> {
    let wrong = |error| ClientError::Kubeconfig {
        file: file.display().to_string(),
        source: Box::new(error),
    };
    let content = Kubeconfig::read_from(file).map_err(wrong)?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(content, &options)
        .await
        .map_err(wrong)
}
