//! Reads the `imagePullSecrets` of a SchedExt, with `--pull-secrets`: when an image is looked at, each by
//! its name. They are neither watched nor kept, and no message quotes them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kube::Client;
use schedkit_image::registry::{CredentialsError, GivenLogins, LoginFormat};
use schedkit_image::secret::Secret;
use serde::Deserialize;
use tokio::time::timeout;

use super::question::PullSecrets;

/// The API server takes no larger Secret.
const MAX_SIZE: usize = 1024 * 1024;
/// For all secrets of a SchedExt.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The API server takes no more of them in a spec.
const MAX_SECRETS: usize = 16;

/// A secret is named as `NAMESPACE/NAME`.
#[derive(Debug, thiserror::Error)]
pub(super) enum PullSecretError {
    #[error(
        "the manager may not read the secret {secret}, which spec.imagePullSecrets names: apply \
         config/verified/pull-secrets for its namespace (docs/sked.md)"
    )]
    Forbidden { secret: String },
    #[error("the secret {secret}, which spec.imagePullSecrets names, does not exist")]
    Missing { secret: String },
    #[error("spec.imagePullSecrets has something that is no name of a secret")]
    Name,
    #[error("spec.imagePullSecrets has more than {MAX_SECRETS} names")]
    TooMany,
    #[error(
        "the secret {secret} holds no logins: its type must be kubernetes.io/dockerconfigjson or \
         kubernetes.io/dockercfg"
    )]
    Kind { secret: String },
    #[error("the secret {secret} has more than {MAX_SIZE} bytes")]
    TooBig { secret: String },
    #[error("what the API server has as the secret {secret} cannot be read")]
    Object { secret: String },
    /// It names the secret.
    #[error(transparent)]
    Content(CredentialsError),
    #[error("the API server does not say what the secret {secret} has")]
    Api {
        secret: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the API server took more than {} s for the secrets of {namespace}", TIMEOUT.as_secs())]
    Timeout { namespace: String },
}

/// Of a Secret only what is used; its text is never part of an error.
#[derive(Deserialize)]
struct Stored {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(rename = ".dockerconfigjson")]
    config: Option<Secret>,
    #[serde(rename = ".dockercfg")]
    old_config: Option<Secret>,
}

/// The logins of these secrets, in their order.
pub(super) async fn read(
    client: &Client,
    secrets: &Arc<PullSecrets>,
) -> Result<Vec<GivenLogins>, PullSecretError> {
    let PullSecrets { namespace, names } = &**secrets;
    if names.len() > MAX_SECRETS {
        return Err(PullSecretError::TooMany);
    }
    let all = async {
        let mut logins = Vec::new();
        for name in names {
            logins.push(read_one(client, namespace, name).await?);
        }
        Ok(logins)
    };
    let read = timeout(TIMEOUT, all).await;
    read.unwrap_or_else(|_| {
        let namespace = namespace.clone();
        Err(PullSecretError::Timeout { namespace })
    })
}

async fn read_one(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<GivenLogins, PullSecretError> {
    if !is_name(name) {
        return Err(PullSecretError::Name);
    }
    let secret = format!("{namespace}/{name}");
    // As text: the client logs what it cannot parse.
    let request = Request::get(format!("/api/v1/namespaces/{namespace}/secrets/{name}"));
    let request = request.body(Vec::new());
    let request = request.map_err(|_| PullSecretError::Name)?;
    match client.request_text(request).await {
        Ok(text) => logins(secret, &Secret::new(text)),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            Err(PullSecretError::Forbidden { secret })
        }
        Err(kube::Error::Api(status)) if status.code == 404 => {
            Err(PullSecretError::Missing { secret })
        }
        // It holds the bytes.
        Err(kube::Error::FromUtf8(_)) => Err(PullSecretError::Object { secret }),
        Err(source) => Err(PullSecretError::Api {
            secret,
            source: Box::new(source),
        }),
    }
}

/// As the API server wants it: a name with a slash would be another path.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_inner = |byte: u8| is_allowed(byte) || byte == b'-' || byte == b'.';
    let ends = name.bytes().next().zip(name.bytes().next_back());
    ends.is_some_and(|(first, last)| is_allowed(first) && is_allowed(last))
        && name.len() <= 253
        && name.bytes().all(is_inner)
}

fn logins(secret: String, object: &Secret) -> Result<GivenLogins, PullSecretError> {
    let Ok(Stored { kind, data }) = serde_json::from_str(object.expose()) else {
        return Err(PullSecretError::Object { secret });
    };
    let (format, encoded) = match &*kind {
        "kubernetes.io/dockerconfigjson" => (LoginFormat::Config, data.config),
        "kubernetes.io/dockercfg" => (LoginFormat::OldConfig, data.old_config),
        _ => return Err(PullSecretError::Kind { secret }),
    };
    let Some(encoded) = encoded else {
        return Err(PullSecretError::Kind { secret });
    };
    let bytes = STANDARD.decode(encoded.expose()).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text.map(Secret::new) else {
        return Err(PullSecretError::Object { secret });
    };
    if text.expose().len() > MAX_SIZE {
        return Err(PullSecretError::TooBig { secret });
    }
    let name = format!("the secret {secret}");
    GivenLogins::parse(name, format, &text).map_err(PullSecretError::Content)
}
