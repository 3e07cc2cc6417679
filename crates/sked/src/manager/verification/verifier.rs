//! The verifier: its thread, and what the controller asks it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use schedkit_core::ImageRef;
use schedkit_image::registry::Credentials;
use schedkit_image::trust::Policy;
use sked_api::SchedExt;
use sked_plan::rollout::requests::pending_refresh;
use sked_plan::verification::{Known, PolicyState, Verdict, images, references};
use sked_plan::{ObjectKey, part};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::bounded::Bounded;
use super::policy_file::PolicyReader;
use super::read;
use super::table::{Lane, Next, Table};
use super::trust_root::{TrustRoot, TrustRootSettings};
use crate::error_chain::chain;
use crate::manager::metrics::Metrics;
use crate::manager::queue::Queue;
use crate::manager::registries::Registries;
use crate::manager::stores::Stores;
use crate::stop::Stop;

/// How often the policy's files are compared.
const POLL: Duration = Duration::from_secs(10);
/// For one image of a registry that has not failed: the others wait meanwhile.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For one image of a registry that has.
const FAILING_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Settings {
    pub(crate) policy: PathBuf,
    /// The manager's logins.
    pub(crate) auth: Option<PathBuf>,
    pub(crate) registries: Registries,
    pub(crate) resolve_interval: Option<Duration>,
    pub(crate) enforces: bool,
}

pub(crate) struct Verifier {
    settings: Settings,
    stores: Arc<Stores>,
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
    root: TrustRoot,
    state: Mutex<State>,
    /// Wakes each lane.
    wanted: [Notify; 2],
}

struct State {
    policy: PolicyState,
    loaded: Option<Arc<Policy>>,
    table: Table,
    /// What each lane is looking at.
    busy: [String; 2],
}

const LANES: [Lane; 2] = [Lane::Ordinary, Lane::Failing];

impl Verifier {
    pub(crate) fn new(
        settings: Settings,
        stores: Arc<Stores>,
        queue: Arc<Queue>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            settings,
            stores,
            queue,
            metrics,
            root: TrustRoot::default(),
            state: Mutex::new(State {
                policy: PolicyState::Missing {
                    why: "it was not read yet".to_owned(),
                },
                loaded: None,
                table: Table::default(),
                busy: Default::default(),
            }),
            wanted: Default::default(),
        }
    }

    /// With another trusted root than the one inside the program.
    pub(crate) fn with_root(self, settings: TrustRootSettings) -> Self {
        let root = TrustRoot::new(settings);
        Self { root, ..self }
    }

    /// Reads the policy, and then works in a thread of its own until a stop is requested.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(self: &Arc<Self>, mut stop: Stop) -> io::Result<()> {
        let this = Arc::clone(self);
        let mut reader = PolicyReader::new(self.settings.policy.clone());
        // Before anything is reconciled: a status must not say that there is no policy yet.
        self.poll(&mut reader);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = this.work(&mut reader) => {}
                    // A read in progress is dropped: nothing depends on it.
                    () = stop.requested() => {}
                }
            });
        };
        let thread = thread::Builder::new().name("verifier".to_owned());
        thread.spawn(work).map(drop)
    }

    /// What is known of the images of a SchedExt.
    pub(crate) fn known(&self, asked: &Arc<SchedExt>) -> Known {
        let key = part::key(asked);
        let status = asked.status.as_ref();
        let handled = status.and_then(|status| status.handled_request.as_deref());
        let refresh = pending_refresh(asked, handled);
        let follows_tags = self.settings.resolve_interval.is_some();
        let references = references(asked, refresh.is_some() || follows_tags);
        let mut state = self.state();
        let now = Instant::now();
        let looks = state
            .table
            .want(&key, references.clone(), refresh.as_deref(), now);
        if looks {
            self.wake();
        }
        let table = &state.table;
        Known {
            asked: Arc::clone(asked),
            verdicts: table
                .verdicts(&references, state.policy.fingerprint())
                .collect(),
            is_refreshed: refresh.is_some() && table.is_refreshed(&key, images(asked).into_iter()),
            policy: state.policy.clone(),
            follows_tags,
            enforces: self.settings.enforces,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.wanted.iter().for_each(Notify::notify_one);
    }

    async fn work(&self, reader: &mut PolicyReader) {
        let root = self.root.run(&self.metrics);
        tokio::join!(self.follow_policy(reader), root, self.look(0), self.look(1));
    }

    async fn follow_policy(&self, reader: &mut PolicyReader) {
        loop {
            tokio::time::sleep(POLL).await;
            self.poll(reader);
        }
    }

    fn poll(&self, reader: &mut PolicyReader) {
        if let Some(root) = self.root.changed() {
            reader.use_root(root);
        }
        reader.poll();
        let (policy, loaded) = self
            .root
            .if_fresh(reader.state(), reader.policy(), &self.metrics);
        self.metrics.policy_readable(policy.trouble().is_none());
        let users = {
            let mut state = self.state();
            let exists = |key: &ObjectKey| self.stores.schedexts.get(key).is_some();
            state.table.retain(exists);
            let changed = state.policy != policy;
            state.policy = policy;
            state.loaded = loaded;
            changed.then(|| state.table.users())
        };
        if let Some(users) = users {
            self.wake();
            users.iter().for_each(|key| self.queue.now(key));
        }
    }

    /// Looks at one image after the other.
    async fn look(&self, lane: usize) {
        loop {
            let wanted = self.wanted[lane].notified();
            let Some((policy, next)) = self.next(lane) else {
                wanted.await;
                continue;
            };
            match next {
                Next::Now(reference) => {
                    let verdict = self.verdict(&policy, &reference, lane).await;
                    self.record(&reference, verdict, &policy, lane);
                }
                Next::At(due) => {
                    let _ = timeout_at(due, wanted).await;
                }
                Next::OnChange => wanted.await,
            }
        }
    }

    /// With the policy to judge it by; `None` without one.
    fn next(&self, lane: usize) -> Option<(Arc<Policy>, Next)> {
        let mut state = self.state();
        let policy = state.loaded.clone()?;
        let fingerprint = policy.fingerprint().to_string();
        let busy = &state.busy[1 - lane];
        let next = state
            .table
            .next(&fingerprint, LANES[lane], busy, Instant::now());
        if let Next::Now(reference) = &next {
            state.busy[lane].clone_from(reference);
        }
        Some((policy, next))
    }

    async fn verdict(&self, policy: &Policy, reference: &str, lane: usize) -> Verdict {
        let limit = match LANES[lane] {
            Lane::Ordinary => TIMEOUT,
            Lane::Failing => FAILING_TIMEOUT,
        };
        let found = timeout(limit, self.ask(policy, reference)).await;
        found.unwrap_or_else(|_| {
            let seconds = limit.as_secs();
            Verdict::Trouble(format!(
                "cannot tell whether {reference} is signed: its registry took more than {seconds} s"
            ))
        })
    }

    async fn ask(&self, policy: &Policy, reference: &str) -> Verdict {
        let image: ImageRef = match reference.parse() {
            Ok(image) => image,
            Err(error) => {
                return Verdict::Refused(format!("{reference} names no image: {}", chain(&error)));
            }
        };
        let registries = &self.settings.registries;
        if let Err(error) = registries.check(&image) {
            return Verdict::Trouble(error.to_string());
        }
        let credentials = match &self.settings.auth {
            Some(file) => Credentials::from_file(file.clone()),
            None => Credentials::none(),
        };
        let client = Bounded::new(registries.client(credentials));
        let pinned = match read::digest_of(&client, &image).await {
            Ok(pinned) => pinned,
            Err(error) => return Verdict::Trouble(chain(&error)),
        };
        let fingerprint = policy.fingerprint().to_string();
        let known = self
            .state()
            .table
            .accepted(&pinned.to_string(), &fingerprint);
        match known {
            Some(verdict) => verdict,
            None => read::judge(&client, policy, &pinned).await,
        }
    }

    fn record(&self, reference: &str, verdict: Verdict, policy: &Policy, lane: usize) {
        self.metrics.image_verified(match &verdict {
            Verdict::Accepted { .. } => "accepted",
            Verdict::Refused(_) => "refused",
            Verdict::Trouble(_) => "trouble",
        });
        tell(reference, &verdict);
        let fingerprint = policy.fingerprint().to_string();
        let interval = self.settings.resolve_interval;
        let now = Instant::now();
        let users = {
            let mut state = self.state();
            state.busy[lane].clear();
            if let Verdict::Accepted { resolved, .. } = &verdict {
                let resolved = resolved.clone();
                let table = &mut state.table;
                table.record(&resolved, verdict.clone(), &fingerprint, interval, now);
            }
            let table = &mut state.table;
            table.record(reference, verdict, &fingerprint, interval, now)
        };
        // A registry that failed may have passed to the other lane.
        self.wanted[1 - lane].notify_one();
        users.iter().for_each(|key| self.queue.now(key));
    }
}

fn tell(reference: &str, verdict: &Verdict) {
    match verdict {
        Verdict::Accepted {
            resolved, signer, ..
        } => tracing::info!(image = reference, resolved, signer, "the image is accepted"),
        Verdict::Refused(why) => tracing::warn!(image = reference, "the image is refused: {why}"),
        Verdict::Trouble(why) => {
            tracing::warn!(image = reference, "the image cannot be verified: {why}");
        }
    }
}

#[cfg(test)]
mod tests;
