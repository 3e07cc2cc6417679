//! A question until it is answered: host after host, try after try, within its time. Called by
//! every question of the client.

use std::time::Duration;

use schedkit_core::Repository;
use tokio::time::{sleep, timeout};

use super::RegistryError;
use super::client::Client;
use super::endpoint::{Endpoint, endpoints};
use super::reply::Reply;
use super::send::Question;

impl Client {
    /// Asks the mirrors, then the registry; each gets `patience`. A mirror that fails in whatever
    /// way is passed over; what the last of all says is the answer.
    pub(super) async fn everywhere<T>(
        &self,
        repository: &Repository,
        what: &str,
        patience: Duration,
        mut question: impl AsyncFnMut(&Endpoint) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut failed = Vec::new();
        for endpoint in endpoints(&self.hosts, repository, self.limits.tries)? {
            let answer = timeout(patience, question(&endpoint)).await;
            let answer = answer.unwrap_or_else(|_| {
                Err(RegistryError::TooSlow {
                    what: what.to_owned(),
                    host: endpoint.host.to_string(),
                    limit: patience,
                })
            });
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => failed.push(error),
            }
        }
        Err(summary(failed, what))
    }

    /// Asks one host, again when that can help. The reader is part of the try: an answer that is
    /// cut off in its middle is asked for again.
    pub(super) async fn ask<T>(
        &self,
        question: &Question<'_>,
        mut read: impl AsyncFnMut(Reply) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let answer = match self.send(question).await {
                Ok(reply) => read(reply).await,
                Err(error) => Err(error),
            };
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let tries = question.endpoint.tries;
            match self.limits.pause_after(&error, tried, tries) {
                Some(pause) => sleep(pause).await,
                None => return Err(error),
            }
        }
    }
}

/// The last word is the registry's own; when it is that something is not there, the mirrors'
/// troubles do not matter.
fn summary(mut failed: Vec<RegistryError>, what: &str) -> RegistryError {
    let last = failed.pop().unwrap_or_else(|| RegistryError::NotFound {
        what: what.to_owned(),
    });
    if failed.is_empty() || last.is_not_found() {
        return last;
    }
    RegistryError::Everywhere {
        mirrors: failed,
        last: Box::new(last),
    }
}
