//! The trusted root of a policy that names none: fetched by TUF now and then (`--trust-root-refresh`),
//! else what the cache has, else the one inside the program.
//!
//! A refresh that fails changes nothing but the age. Where refreshing was asked for and nothing was
//! fetched yet, a policy that needs a root cannot be read: the program's own could refuse what a newer
//! one accepts, and with `--enforce-running` that would be taken off the nodes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use schedkit_image::registry::FileClient;
use schedkit_image::trust::{
    Anchor, AnchorError, KeptRoot, Mirror, MirrorUrlError, NoRootError, Policy, RootSource,
    RootStore, refresh,
};
use schedkit_image::untrusted::Reader;
use sked_plan::verification::PolicyState;
use tokio::time::sleep;

use crate::args::TrustRootArgs;
use crate::error_chain::chain;
use crate::manager::metrics::Metrics;
use crate::manager::registries::Registries;

/// After a failure, unless the interval is shorter.
const RETRY: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustRootError {
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(transparent)]
    Mirror(#[from] MirrorUrlError),
}

pub(crate) struct TrustRootSettings {
    anchor: Anchor,
    mirror: Mirror,
    client: FileClient,
    interval: Option<Duration>,
    max_age: Option<Duration>,
    store: Option<RootStore>,
}

/// Used by one thread at a time.
#[derive(Default)]
pub(super) struct TrustRoot {
    /// `None`: the one inside the program, of any age.
    settings: Option<TrustRootSettings>,
    state: Mutex<State>,
}

struct State {
    kept: Option<Arc<KeptRoot>>,
    /// Why nothing was fetched yet.
    why: String,
    /// Since the last call of [`TrustRoot::changed`].
    changed: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            kept: None,
            why: "it is being fetched".to_owned(),
            changed: true,
        }
    }
}

impl TrustRootSettings {
    /// # Errors
    /// When the pinned root of TUF cannot be used.
    pub(crate) fn new(
        args: &TrustRootArgs,
        registries: &Registries,
    ) -> Result<Self, TrustRootError> {
        let anchor = match (&args.trust_root_tuf, &args.trust_root_tuf_sha256) {
            (Some(path), Some(digest)) => Anchor::read(path, digest, Reader::User)?,
            _ => Anchor::public_good()?,
        };
        let mirror = match &args.trust_root_mirror {
            Some(mirror) => mirror.clone(),
            None => Mirror::public_good()?,
        };
        Ok(Self {
            anchor,
            mirror,
            client: registries.file_client(),
            interval: args.trust_root_refresh,
            max_age: args.max_root_age,
            store: args.trust_root_cache.as_deref().map(store),
        })
    }
}

/// A folder of its own, because everybody may write to a volume that was just mounted.
fn store(folder: &Path) -> RootStore {
    let user = rustix::process::geteuid().as_raw();
    let folder: PathBuf = folder.join("trust-root");
    RootStore::at(folder, user)
}

impl TrustRoot {
    /// With what the cache has.
    pub(super) fn new(settings: TrustRootSettings) -> Self {
        let mut state = State::default();
        let loaded = settings
            .store
            .as_ref()
            .map(|store| store.load(&settings.anchor));
        match loaded.transpose() {
            Ok(kept) => state.kept = kept.flatten().map(Arc::new),
            Err(error) => tracing::warn!("the trusted root is fetched anew: {}", chain(&error)),
        }
        Self {
            settings: Some(settings),
            state: Mutex::new(state),
        }
    }

    /// If it is another one than at the last call, or was confirmed since.
    pub(super) fn changed(&self) -> Option<RootSource> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = std::mem::take(&mut state.changed);
        changed.then(|| self.source(&state))
    }

    fn source(&self, state: &State) -> RootSource {
        let Some(settings) = &self.settings else {
            return RootSource::Embedded;
        };
        let kept = state.kept.as_deref().cloned();
        if kept.is_none() && settings.interval.is_some() {
            let error = NoRootError::NotRefreshed(state.why.clone());
            return RootSource::Nothing(Arc::new(error));
        }
        let (source, warning) = RootSource::choose(&settings.anchor, Ok(kept), Timestamp::now());
        if let Some(warning) = warning {
            tracing::warn!("{}", chain(&warning));
        }
        source
    }

    /// The policy with its state, unless the root that it uses is too old: then no policy is known, and
    /// what runs goes on.
    pub(super) fn if_fresh(
        &self,
        state: PolicyState,
        policy: Option<&Arc<Policy>>,
        metrics: &Metrics,
    ) -> (PolicyState, Option<Arc<Policy>>) {
        let as_of = policy.and_then(|policy| policy.root_as_of());
        if let Some(as_of) = as_of {
            metrics.root_checked(as_of);
        }
        let max_age = self.settings.as_ref().and_then(|settings| settings.max_age);
        let checked = max_age.zip(policy);
        let checked = checked.map(|(max, policy)| policy.check_root_age(max, Timestamp::now()));
        match checked {
            Some(Err(error)) => {
                let why =
                    format!("{error}: --trust-root-refresh renews it, unless the log says why not");
                (PolicyState::Missing { why }, None)
            }
            Some(Ok(())) | None => (state, policy.cloned()),
        }
    }

    /// Refreshes it for ever, if that was asked for.
    pub(super) async fn run(&self, metrics: &Metrics) {
        let settings = self.settings.as_ref();
        let Some((settings, interval)) = settings.and_then(|one| Some((one, one.interval?))) else {
            return;
        };
        let mut wait = self.first_wait(interval);
        loop {
            sleep(wait).await;
            let refreshed = self.refresh(settings).await;
            metrics.root_refreshed(refreshed.is_ok());
            wait = match refreshed {
                Ok(()) => interval,
                Err(why) => {
                    tracing::warn!("{why}");
                    interval.min(RETRY)
                }
            };
        }
    }

    /// What the cache has may be young.
    fn first_wait(&self, interval: Duration) -> Duration {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = state.kept.as_ref();
        let age = kept.map(|kept| Timestamp::now().duration_since(kept.checked_at()));
        let age = age.and_then(|age| Duration::try_from(age).ok());
        age.map_or(Duration::ZERO, |age| interval.saturating_sub(age))
    }

    async fn refresh(&self, settings: &TrustRootSettings) -> Result<(), String> {
        let known = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.kept.clone()
        };
        let (anchor, now) = (&settings.anchor, Timestamp::now());
        let (mirror, client) = (&settings.mirror, &settings.client);
        let fetched = refresh(mirror, client, anchor, known.as_deref(), now).await;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.changed = true;
        let fetched = match fetched {
            Ok(fetched) => fetched,
            Err(error) => {
                state.why = chain(&error);
                return Err(state.why.clone());
            }
        };
        if let Some(store) = &settings.store {
            let saved = store
                .lock()
                .and_then(|lock| store.save(anchor, &fetched, &lock));
            if let Err(error) = saved {
                tracing::warn!(
                    "the trusted root is not kept for a restart: {}",
                    chain(&error)
                );
            }
        }
        state.kept = Some(Arc::new(fetched));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
