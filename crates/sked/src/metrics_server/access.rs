//! Who may see the metrics: the cluster is asked, for each token once in a short while. Tokens are
//! remembered only as hashes.

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

/// How long an answer is remembered; a token that was taken away is refused after this long.
const REMEMBERED: Duration = Duration::from_secs(10);
/// More answers than this are not remembered: tokens are free to make up.
const MOST: usize = 256;
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether somebody may see the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Yes.
    Allowed,
    /// Nobody knows who that is.
    Unknown,
    /// It is known who that is, and that is not enough.
    Forbidden,
    /// The API server did not answer.
    Unasked,
}

type Answers = HashMap<[u8; 32], (Access, Instant)>;

/// Asks the cluster.
pub(super) struct Gate {
    tokens: Api<TokenReview>,
    rights: Api<SubjectAccessReview>,
    answers: Mutex<Answers>,
}

impl Gate {
    pub(super) fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            rights: Api::all(client),
            answers: Mutex::default(),
        }
    }

    /// Whether whoever holds this token may get this path.
    pub(super) async fn ask(&self, token: Option<&str>, path: &str) -> Access {
        let Some(token) = token else {
            return Access::Unknown;
        };
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(token.as_bytes());
        let key: [u8; 32] = hash.finalize().into();
        if let Some(access) = self.remembered(&key) {
            return access;
        }
        match timeout(PATIENCE, self.review(token, path)).await {
            Ok(Ok(access)) => {
                self.remember(key, access);
                access
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    "cannot ask the cluster who may see the metrics: {}",
                    crate::retry::chain(&error)
                );
                Access::Unasked
            }
            Err(_) => Access::Unasked,
        }
    }

    async fn review(&self, token: &str, path: &str) -> Result<Access, kube::Error> {
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
        let question = access_review(user, path);
        let answer = self
            .rights
            .create(&PostParams::default(), &question)
            .await?;
        Ok(match answer.status {
            Some(status) if status.allowed => Access::Allowed,
            _ => Access::Forbidden,
        })
    }

    fn remembered(&self, key: &[u8; 32]) -> Option<Access> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (access, until) = answers.get(key)?;
        (Instant::now() < *until).then_some(*access)
    }

    fn remember(&self, key: [u8; 32], access: Access) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        answers.retain(|_, (_, until)| now < *until);
        if answers.len() < MOST {
            answers.insert(key, (access, now + REMEMBERED));
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
