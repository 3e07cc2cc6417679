//! The Kubernetes client of all subcommands.
//!
//! It has no rate limit of its own: the API server's priority and fairness controls the load. It
//! does not retry requests: the caller decides, and a write must not start after the right to write
//! has expired.

mod connection;
mod error;
mod observed;

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use connection::builder;
use observed::ObserveRequests;

pub use error::ClientError;
pub(crate) use observed::{FinishedRequest, RequestObserver};

/// Where a pod has the token of its service account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A client that reports every request.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The namespace of this pod, if it is one.
    pub(crate) pod_namespace: Option<String>,
}

/// A client of a person, with the namespace of the context.
pub(crate) async fn connect_context(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<(Client, String), ClientError> {
    let config = match (kubeconfig, context) {
        (None, None) => config(None).await?,
        (file, context) => with_limits(from_context(file, context).await?),
    };
    let namespace = config.default_namespace.clone();
    Ok((builder(&config)?.build(), namespace))
}

/// Without a file it uses KUBECONFIG, `~/.kube/config` or the pod's service account.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ClientError> {
    let config = config(kubeconfig).await?;
    Ok(builder(&config)?.build())
}

/// The same, with an observer of every request.
pub(crate) async fn connect_observed(
    kubeconfig: Option<&Path>,
    observer: RequestObserver,
) -> Result<Connection, ClientError> {
    let config = config(kubeconfig).await?;
    let in_pod = config.auth_info.token_file.as_deref() == Some(POD_TOKEN);
    let pod_namespace = in_pod.then(|| config.default_namespace.clone());
    let authority = config.cluster_url.authority();
    let observe = ObserveRequests {
        host: authority.map_or("", |authority| authority.as_str()).into(),
        observer,
    };
    Ok(Connection {
        client: builder(&config)?.with_layer(&observe).build(),
        pod_namespace,
    })
}

async fn config(kubeconfig: Option<&Path>) -> Result<Config, ClientError> {
    let config = match kubeconfig {
        Some(_) => from_context(kubeconfig, None).await?,
        None => Config::infer()
            .await
            .map_err(|error| ClientError::NotConfigured(Box::new(error)))?,
    };
    Ok(with_limits(config))
}

fn with_limits(mut config: Config) -> Config {
    config.connect_timeout = Some(Duration::from_secs(10));
    config.write_timeout = Some(Duration::from_secs(30));
    // Longer than any watch: the API server is asked to end them earlier.
    config.read_timeout = Some(Duration::from_secs(320));
    config
}

/// Without a file it is that of KUBECONFIG, or `~/.kube/config`.
async fn from_context(file: Option<&Path>, context: Option<&str>) -> Result<Config, ClientError> {
    let wrong = |error| ClientError::Kubeconfig {
        file: file.map_or_else(default_kubeconfig, |file| file.display().to_string()),
        source: Box::new(error),
    };
    let content = match file {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(content.map_err(wrong)?, &options)
        .await
        .map_err(wrong)
}

/// For a message.
fn default_kubeconfig() -> String {
    "of KUBECONFIG, or ~/.kube/config".to_owned()
}
