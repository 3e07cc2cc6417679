//! Having an image: looks into Podman's store, lets it pull by digest, and looks again.

use std::time::Duration;

use hyper::{Method, StatusCode};
use schedkit_core::foreign::brief;
use schedkit_core::{PinnedRef, Repository};
use schedkit_image::registry::{Platform, Security};

use super::Podman;
use super::image::{self, Image};
use super::login;
use super::pull_stream::{Lines, Word};
use super::reply;
use super::target::Target;
use super::wire::{Ask, Patience};
use crate::driver::{DriverError, Progress, Pulled};

/// For a credential helper to answer.
const HELPER: Duration = Duration::from_secs(30);
/// Podman's words for an index that has nothing for this machine.
const OTHERS_ONLY: &str = "no image found in";

impl Podman {
    /// Has these bytes in the store, for this machine.
    pub(super) async fn have(
        &self,
        image: &PinnedRef,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pulled, DriverError> {
        if let Some(found) = self.stored(image).await? {
            found.check_machine(image)?;
            return Ok(Pulled::Cached);
        }
        self.fetch(image, progress).await?;
        let found = self.stored(image).await?.ok_or_else(|| {
            let said = "what it pulled has another digest";
            reply::refused(&format!("pull {image}"), said)
        })?;
        if let Err(error) = found.check_machine(image) {
            self.forget(&found).await;
            return Err(error);
        }
        Ok(Pulled::Fetched)
    }

    /// The image in the store, under the name of any place that it may have come from.
    pub(super) async fn stored(&self, image: &PinnedRef) -> Result<Option<Image>, DriverError> {
        for (place, _) in self.hosts.locations(image.repository()) {
            let name = format!("{place}@{}", image.digest());
            let target = Target::new(&["images", &name, "json"]);
            let ask = Ask::new(format!("look for {image}"), Method::GET, target);
            let answer = self.wire.whole(ask).await?;
            if answer.status == StatusCode::NOT_FOUND {
                continue;
            }
            let found = answer.accepted()?.read(image::parse)?;
            if found.is(image.digest()) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// From the first place that has it; the last one's reason when none does.
    async fn fetch(
        &self,
        image: &PinnedRef,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), DriverError> {
        let nowhere = "nobody may be asked for it: its registry has no mirror with such a path";
        let mut last = reply::refused(&format!("pull {image}"), nowhere);
        for (place, security) in self.hosts.locations(image.repository()) {
            match self.fetch_from(image, &place, security, progress).await {
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
        place: &Repository,
        security: Security,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), DriverError> {
        let found = self.logins.login(place, HELPER).await;
        let found = found.map_err(|source| DriverError::Registry {
            image: image.to_string(),
            source: Box::new(source),
        })?;
        let name = format!("{place}@{}", image.digest());
        let target = Target::new(&["images", "pull"]).with("reference", &name);
        // Whatever comes without TLS is still held against its digest. Where we know nothing
        // special of a registry, Podman's own configuration says how to connect.
        let target = match security {
            Security::Tls => target,
            Security::UnverifiedTls | Security::PlainHttp => target.with("tlsVerify", "false"),
        };
        let ask = Ask::new(format!("pull {image}"), Method::POST, target)
            .login(login::header(place, &found))
            .patience(Patience::Pull);
        let mut stream = self.wire.stream(ask).await?;
        let mut lines = Lines::default();
        let mut done = false;
        while let Some(piece) = stream.next().await? {
            let words = lines.push(&piece);
            let words = words.map_err(|error| odd(stream.attempt(), &error))?;
            for word in words {
                done |= hear(image, word, progress)?;
            }
        }
        let rest = lines.end().map_err(|error| odd(stream.attempt(), &error))?;
        if let Some(word) = rest {
            done |= hear(image, word, progress)?;
        }
        if done {
            Ok(())
        } else {
            Err(reply::refused(
                stream.attempt(),
                "it stopped without a reason",
            ))
        }
    }

    /// Takes back what was pulled in vain. That this fails changes nothing for anybody: others
    /// may use the same image.
    async fn forget(&self, image: &Image) {
        let target = Target::new(&["images", &image.id]);
        let ask = Ask::new("remove the image", Method::DELETE, target);
        let _ = self.wire.whole(ask).await;
    }
}

/// Whether that was the last word.
fn hear(
    image: &PinnedRef,
    word: Word,
    progress: &mut dyn FnMut(Progress),
) -> Result<bool, DriverError> {
    match word {
        Word::Note(note) => progress(Progress::Note(brief(&note))),
        Word::Failed(why) if why.contains(OTHERS_ONLY) => {
            return Err(DriverError::Architecture {
                image: image.to_string(),
                made_for: "other machines".to_owned(),
                machine: Platform::this_machine().to_string(),
            });
        }
        Word::Failed(why) => return Err(reply::refused(&format!("pull {image}"), why)),
        Word::Done(_) => return Ok(true),
        Word::Other => {}
    }
    Ok(false)
}

fn odd(attempt: &str, error: &dyn std::error::Error) -> DriverError {
    reply::refused(attempt, error.to_string())
}
