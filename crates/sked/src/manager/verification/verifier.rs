//! The verifier: its thread, and what the controller asks it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use schedkit_core::ImageRef;
use schedkit_image::registry::{Credentials, Registry};
use schedkit_image::trust::Policy;
use sked_api::SchedExt;
use sked_plan::image_facts::ImageFacts;
use sked_plan::rollout::requests::{has_refused_refresh, pending_refresh};
use sked_plan::verification::{Known, PolicyState, Verdict, images, references};
use sked_plan::{ObjectKey, part};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::bounded::Bounded;
use super::policy_file::PolicyReader;
use super::pull_secrets::{self, PullSecretError};
use super::question::{PullSecrets, Question};
use super::read;
use super::table::{Lane, Look, Next, Table};
use super::trust_root::{TrustRoot, TrustRootSettings};
use crate::error_chain::chain;
use crate::manager::images::read_facts;
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
/// For what an accepted image says about itself, which nothing waits for.
const FACTS_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Settings {
    pub(crate) policy: PathBuf,
    /// The manager's logins.
    pub(crate) auth: Option<PathBuf>,
    /// To read a SchedExt's `imagePullSecrets` with; without it they are not used.
    pub(crate) pull_secrets: Option<Client>,
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

/// What a SchedExt asks about.
struct Wish {
    questions: BTreeSet<Question>,
    secrets: Option<Arc<PullSecrets>>,
    /// A request to look at its tags again.
    refresh: Option<String>,
}

struct State {
    policy: PolicyState,
    loaded: Option<Arc<Policy>>,
    table: Table,
    /// What each lane is looking at.
    busy: [Option<Question>; 2],
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

    /// From now on the verifier looks at what is missing of a SchedExt's images.
    pub(crate) fn want(&self, asked: &SchedExt) {
        let Wish {
            questions, refresh, ..
        } = self.wish(asked);
        let key = part::key(asked);
        let mut state = self.state();
        let now = Instant::now();
        if state.table.want(&key, questions, refresh.as_deref(), now) {
            self.wake();
        }
    }

    /// What is known of the images of a SchedExt.
    pub(crate) fn known(&self, asked: &Arc<SchedExt>) -> Known {
        let Wish {
            questions,
            secrets,
            refresh,
        } = self.wish(asked);
        let key = part::key(asked);
        let mut named = images(asked)
            .into_iter()
            .map(|image| Question::new(image, secrets.clone()));
        let state = self.state();
        let table = &state.table;
        Known {
            asked: Arc::clone(asked),
            verdicts: table
                .verdicts(&questions, state.policy.fingerprint())
                .collect(),
            is_refreshed: refresh.is_some() && table.is_refreshed(&key, &mut named),
            tells_tags: has_refused_refresh(asked),
            policy: state.policy.clone(),
            follows_tags: self.settings.resolve_interval.is_some(),
            enforces: self.settings.enforces,
        }
    }

    /// What an accepted image says about itself, by its digest.
    pub(crate) fn facts(&self, pinned: &str) -> Option<Arc<ImageFacts>> {
        self.state().table.facts(pinned)
    }

    fn wish(&self, asked: &SchedExt) -> Wish {
        let status = asked.status.as_ref();
        let handled = status.and_then(|status| status.handled_request.as_deref());
        let refresh = pending_refresh(asked, handled);
        let follows_tags = self.settings.resolve_interval.is_some();
        let looks_again = refresh.is_some() || follows_tags || has_refused_refresh(asked);
        let uses_secrets = self.settings.pull_secrets.is_some();
        let secrets = uses_secrets.then(|| PullSecrets::of(asked)).flatten();
        let secrets = secrets.map(Arc::new);
        let references = references(asked, looks_again).into_iter();
        let questions = references.map(|reference| Question {
            reference,
            secrets: secrets.clone(),
        });
        Wish {
            questions: questions.collect(),
            secrets,
            refresh,
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
                Next::Now(question) => {
                    let began = Instant::now();
                    let verdict = self.verdict(&policy, &question, lane).await;
                    let look = Look {
                        policy: &policy.fingerprint().to_string(),
                        began,
                        ended: Instant::now(),
                    };
                    self.record(&question, verdict, &look, lane);
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
        let State { table, busy, .. } = &mut *state;
        let other = busy[1 - lane].as_ref();
        let next = table.next(&fingerprint, LANES[lane], other, Instant::now());
        if let Next::Now(question) = &next {
            busy[lane] = Some(question.clone());
        }
        Some((policy, next))
    }

    async fn verdict(&self, policy: &Policy, question: &Question, lane: usize) -> Verdict {
        let limit = match LANES[lane] {
            Lane::Ordinary => TIMEOUT,
            Lane::Failing => FAILING_TIMEOUT,
        };
        self.ask(policy, question, limit).await
    }

    async fn ask(&self, policy: &Policy, question: &Question, limit: Duration) -> Verdict {
        let reference = &question.reference;
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
        let credentials = match self.credentials(question).await {
            Ok(credentials) => credentials,
            Err(error) => {
                return Verdict::Trouble(format!(
                    "cannot tell whether {reference} is signed: {}",
                    chain(&error)
                ));
            }
        };
        let client = Bounded::new(registries.client(credentials));
        let judging = timeout(limit, self.judge(policy, &client, question, &image));
        let Ok(verdict) = judging.await else {
            let seconds = limit.as_secs();
            return Verdict::Trouble(format!(
                "cannot tell whether {reference} is signed: its registry took more than {seconds} s"
            ));
        };
        if let Verdict::Accepted { resolved, .. } = &verdict {
            self.learn(&client, resolved).await;
        }
        verdict
    }

    async fn judge(
        &self,
        policy: &Policy,
        client: &impl Registry,
        question: &Question,
        image: &ImageRef,
    ) -> Verdict {
        let pinned = match read::digest_of(client, image).await {
            Ok(pinned) => pinned,
            Err(error) => return Verdict::Trouble(chain(&error)),
        };
        let fingerprint = policy.fingerprint().to_string();
        let same = question.about(&pinned.to_string());
        let known = self
            .state()
            .table
            .accepted(&same, &fingerprint, Instant::now());
        match known {
            Some(verdict) => verdict,
            None => read::judge(client, policy, &pinned, Timestamp::now()).await,
        }
    }

    /// The verdict stands whether or not they can be read.
    async fn learn(&self, client: &impl Registry, pinned: &str) {
        let (None, Ok(image)) = (self.facts(pinned), pinned.parse()) else {
            return;
        };
        match timeout(FACTS_TIMEOUT, read_facts(client, &image)).await {
            Ok(Ok(facts)) => {
                let users = self.state().table.learn(pinned, Arc::new(facts));
                users.iter().for_each(|key| self.queue.now(key));
            }
            Ok(Err(error)) => {
                tracing::debug!(image = pinned, "cannot be described: {}", chain(&error));
            }
            Err(_) => tracing::debug!(image = pinned, "cannot be described: its registry is slow"),
        }
    }

    /// Those of the SchedExt go before the manager's.
    async fn credentials(&self, question: &Question) -> Result<Credentials, PullSecretError> {
        let own = match &self.settings.auth {
            Some(file) => Credentials::from_file(file.clone()),
            None => Credentials::none(),
        };
        match (&self.settings.pull_secrets, &question.secrets) {
            (Some(client), Some(secrets)) => {
                Ok(own.with_given(pull_secrets::read(client, secrets).await?))
            }
            _ => Ok(own),
        }
    }

    fn record(&self, question: &Question, verdict: Verdict, look: &Look<'_>, lane: usize) {
        self.metrics.image_verified(match &verdict {
            Verdict::Accepted { .. } => "accepted",
            Verdict::Refused(_) | Verdict::Unsigned(_) => "refused",
            Verdict::Trouble(_) => "trouble",
        });
        tell(question, &verdict);
        let users = self.store(question, verdict, look, lane);
        // A registry that failed may have passed to the other lane.
        self.wanted[1 - lane].notify_one();
        users.iter().for_each(|key| self.queue.now(key));
    }

    /// Returns who asks about it, by its tag or by its digest, if that is new to them.
    fn store(
        &self,
        question: &Question,
        verdict: Verdict,
        look: &Look<'_>,
        lane: usize,
    ) -> BTreeSet<ObjectKey> {
        let interval = self.settings.resolve_interval;
        let mut state = self.state();
        let State { table, busy, .. } = &mut *state;
        busy[lane] = None;
        let mut users = BTreeSet::new();
        if let Verdict::Accepted { resolved, .. } = &verdict {
            let resolved = question.about(resolved);
            users.extend(table.record(&resolved, verdict.clone(), look, interval));
        }
        users.extend(table.record(question, verdict, look, interval));
        users
    }
}

fn tell(question: &Question, verdict: &Verdict) {
    let Question { reference, secrets } = question;
    // Whose credentials were used.
    let namespace = secrets.as_ref().map(|secrets| &*secrets.namespace);
    match verdict {
        Verdict::Accepted {
            resolved, signer, ..
        } => tracing::info!(
            image = reference,
            namespace,
            resolved,
            signer,
            "the image is accepted"
        ),
        Verdict::Refused(why) | Verdict::Unsigned(why) => {
            tracing::warn!(image = reference, namespace, "the image is refused: {why}");
        }
        Verdict::Trouble(why) => {
            tracing::warn!(
                image = reference,
                namespace,
                "the image cannot be verified: {why}"
            );
        }
    }
}

#[cfg(test)]
mod tests;
