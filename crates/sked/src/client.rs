//! The client that everything here speaks to the API server with.
//!
//! It has no rate limit of its own: the API server's priority and fairness knows better. It
//! repeats nothing by itself: whoever asked decides, and a write must not begin again after the
//! right to write has ended.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The file that was named.
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        /// Which.
        file: String,
        /// What is wrong with it.
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// Nothing was named and nothing found.
    #[error(
        "no cluster found: run in a pod with a service account, or name a file with --kubeconfig or KUBECONFIG"
    )]
    Nowhere(#[source] Box<kube::config::InferConfigError>),
    /// TLS or authentication.
    #[error("cannot make a client of the cluster's configuration")]
    Unusable(#[source] Box<kube::Error>),
}

/// A client for the cluster of this file, or for the one that is found.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ClientError> {
    let mut config = match kubeconfig {
        Some(file) => from_file(file).await?,
        None => Config::infer()
            .await
            .map_err(|error| ClientError::Nowhere(Box::new(error)))?,
    };
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    config.default_retry = false;
    Client::try_from(config).map_err(|error| ClientError::Unusable(Box::new(error)))
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
