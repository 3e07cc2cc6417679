//! Ensures that an image is in Podman's store: checks the store, lets Podman pull by digest, and
//! checks again.

use std::time::Duration;

use hyper::{Method, StatusCode};
use schedkit_core::sanitize::brief;
use schedkit_core::{PinnedRef, Repository};
use schedkit_image::registry::{Platform, Security};

use super::Podman;
use super::client::{ApiRequest, RequestTimeout};
use super::image::{self, StoredImage};
use super::pull_stream::{Lines, PullEvent};
use super::registry_auth;
use super::response::refused;
use super::target::Target;
use crate::driver::{DriverError, PullProgress, Pulled};

/// For a credential helper.
const HELPER_TIMEOUT: Duration = Duration::from_secs(30);
/// Podman's message for an index that has no image for this machine.
const NO_PLATFORM: &str = "no image found in";

impl Podman {
    /// Fails when the image is for another machine.
    pub(super) async fn ensure_image(
        &self,
        image: &PinnedRef,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        if let Some(found) = self.stored(image).await? {
            found.check_machine(image)?;
            return Ok(Pulled::Cached);
        }
        self.fetch(image, progress).await?;
        let found = self.stored(image).await?.ok_or_else(|| {
            let message = "what it pulled has another digest";
            refused(&format!("pull {image}"), message)
        })?;
        if let Err(error) = found.check_machine(image) {
            self.remove_image(&found).await;
            return Err(error);
        }
        Ok(Pulled::Fetched)
    }

    /// The image in the store, under the name of any repository that it may have come from.
    pub(super) async fn stored(
        &self,
        image: &PinnedRef,
    ) -> Result<Option<StoredImage>, DriverError> {
        for (location, _) in self.hosts.locations(image.repository()) {
            let name = format!("{location}@{}", image.digest());
            let target = Target::new(&["images", &name, "json"]);
            let request = ApiRequest::new(format!("look for {image}"), Method::GET, target);
            let response = self.client.send(request).await?;
            if response.status == StatusCode::NOT_FOUND {
                continue;
            }
            let found = response.accepted()?.parse(image::parse)?;
            if found.has_digest(image.digest()) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Pulls from the first repository that has the image, else returns the error of the last one.
    async fn fetch(
        &self,
        image: &PinnedRef,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<(), DriverError> {
        let nowhere = "no registry may be used for it: its own has no mirror with such a path";
        let mut last = refused(&format!("pull {image}"), nowhere);
        for (location, security) in self.hosts.locations(image.repository()) {
            match self.fetch_from(image, &location, security, progress).await {
                Ok(()) => return Ok(()),
                Err(error @ DriverError::Refused { .. }) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    async fn fetch_from(
        &self,
        image: &PinnedRef,
        location: &Repository,
        security: Security,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<(), DriverError> {
        let login = self.logins.login(location, HELPER_TIMEOUT).await;
        let login = login.map_err(|source| DriverError::Registry {
            image: image.to_string(),
            source: Box::new(source),
        })?;
        let name = format!("{location}@{}", image.digest());
        let target = Target::new(&["images", "pull"]).with("reference", &name);
        // The content is checked against its digest, also without TLS. For a registry without an
        // entry of ours Podman's own configuration applies.
        let target = match security {
            Security::Tls => target,
            Security::UnverifiedTls | Security::PlainHttp => target.with("tlsVerify", "false"),
        };
        let request = ApiRequest::new(format!("pull {image}"), Method::POST, target)
            .registry_auth(registry_auth::header(location, &login))
            .timeout(RequestTimeout::Pull);
        let mut stream = self.client.stream(request).await?;
        let mut lines = Lines::default();
        let mut done = false;
        while let Some(part) = stream.next().await? {
            let events = lines.push(&part);
            let events = events.map_err(|error| invalid(stream.attempt(), &error))?;
            for event in events {
                done |= handle(image, event, progress)?;
            }
        }
        let last = lines.end();
        let last = last.map_err(|error| invalid(stream.attempt(), &error))?;
        if let Some(event) = last {
            done |= handle(image, event, progress)?;
        }
        if done {
            Ok(())
        } else {
            Err(refused(stream.attempt(), "it stopped without a reason"))
        }
    }

    /// Removes an image that cannot be used. A failure is ignored: others may use the same image.
    async fn remove_image(&self, image: &StoredImage) {
        let target = Target::new(&["images", &image.id]);
        let request = ApiRequest::new("remove the image", Method::DELETE, target);
        let _ = self.client.send(request).await;
    }
}

/// Whether the pull is done.
fn handle(
    image: &PinnedRef,
    event: PullEvent,
    progress: &mut dyn FnMut(PullProgress),
) -> Result<bool, DriverError> {
    match event {
        PullEvent::Note(note) => progress(PullProgress::Note(brief(&note))),
        PullEvent::Failed(error) if error.contains(NO_PLATFORM) => {
            return Err(DriverError::Architecture {
                image: image.to_string(),
                made_for: "other machines".to_owned(),
                machine: Platform::this_machine().to_string(),
            });
        }
        PullEvent::Failed(error) => return Err(refused(&format!("pull {image}"), error)),
        PullEvent::Done(_) => return Ok(true),
        PullEvent::Other => {}
    }
    Ok(false)
}

fn invalid(attempt: &str, error: &dyn std::error::Error) -> DriverError {
    refused(attempt, error.to_string())
}
