//! Whether a client may read the metrics, by TokenReview and SubjectAccessReview. Results are cached
//! for a short time; tokens are stored only as hashes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

/// How long a result is cached: a revoked token is rejected after this time at the latest.
const CACHE_TIME: Duration = Duration::from_secs(10);
/// Limits the cache, because anybody can send any number of invalid tokens.
const CACHE_SIZE: usize = 256;
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Allowed,
    /// The token is missing or invalid.
    Unknown,
    /// The user lacks the permission.
    Forbidden,
    /// The API server did not respond.
    Unavailable,
}

type Cache = HashMap<[u8; 32], (Access, Instant)>;

pub(super) struct AccessReviewer {
    tokens: Api<TokenReview>,
    permissions: Api<SubjectAccessReview>,
    cache: Mutex<Cache>,
}

impl AccessReviewer {
    pub(super) fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            permissions: Api::all(client),
            cache: Mutex::default(),
        }
    }

    /// Whether the owner of this token may get this path.
    pub(super) async fn review(&self, token: Option<&str>, path: &str) -> Access {
        let Some(token) = token else {
            return Access::Unknown;
        };
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(token.as_bytes());
        let key: [u8; 32] = hash.finalize().into();
        if let Some(access) = self.cached(&key) {
            return access;
        }
        match timeout(TIMEOUT, self.request_reviews(token, path)).await {
            Ok(Ok(access)) => {
                self.cache_result(key, access);
                access
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    "cannot check who may read the metrics: {}",
                    crate::error_chain::chain(&error)
                );
                Access::Unavailable
            }
            Err(_) => Access::Unavailable,
        }
    }

    async fn request_reviews(&self, token: &str, path: &str) -> Result<Access, kube::Error> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let review = self.tokens.create(&PostParams::default(), &review).await?;
        let status = review.status.unwrap_or_default();
        let (Some(true), Some(user)) = (status.authenticated, status.user) else {
            return Ok(Access::Unknown);
        };
        let review = access_review(user, path);
        let response = self
            .permissions
            .create(&PostParams::default(), &review)
            .await?;
        Ok(match response.status {
            Some(status) if status.allowed => Access::Allowed,
            _ => Access::Forbidden,
        })
    }

    fn cached(&self, key: &[u8; 32]) -> Option<Access> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let (access, until) = cache.get(key)?;
        (Instant::now() < *until).then_some(*access)
    }

    fn cache_result(&self, key: [u8; 32], access: Access) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        cache.retain(|_, (_, until)| now < *until);
        if cache.len() < CACHE_SIZE {
            cache.insert(key, (access, now + CACHE_TIME));
        }
    }
}

fn access_review(user: UserInfo, path: &str) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(path.to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
