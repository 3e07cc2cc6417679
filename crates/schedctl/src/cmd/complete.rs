//! `schedctl __complete`: answers the completion scripts of `schedctl completion`. The first line is
//! `words` or `files`, each further one a word, a tab and its description. Never fails, never takes
//! much longer than a second, and needs no root: what cannot be read in time is not offered.

use std::time::Duration;

use schedkit_image::catalog::{Catalog, Resolution, load_stored};
use schedkit_image::registry::Client;
use schedkit_image::versions;
use tokio::time::timeout;

use crate::completion::{Candidate, Wanted, wanted};
use crate::exit::Exit;
use crate::inventory::{list, list_both};
use crate::output::{Printer, completion::Completions};
use crate::settings::Settings;
use crate::tag_cache::TagCache;

/// Before a person wonders whether the shell hangs.
const LIMIT: Duration = Duration::from_millis(800);

pub(super) async fn complete(
    words: &[String],
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let last = words.last().map_or("", String::as_str);
    let found = match wanted(words) {
        Wanted::Files => Completions::Files,
        Wanted::Words(words) => Completions::Words(words),
        Wanted::Unknown => Completions::none(),
        Wanted::Scheduler => Completions::Words(schedulers(settings)),
        Wanted::Container => Completions::Words(containers(settings).await),
        Wanted::Tag(image) => Completions::Words(tags(&image, settings).await),
    };
    printer.print(&found.beginning_with(last))?;
    Ok(Exit::Ok)
}

fn schedulers(settings: &Settings) -> Vec<Candidate> {
    let catalog = load_stored(&settings.catalog.value, &settings.cache.value);
    let entries = catalog.iter().flat_map(Catalog::entries);
    let candidate = |(name, image): (&_, &_)| Candidate {
        word: ToString::to_string(name),
        help: ToString::to_string(image),
    };
    entries.map(candidate).collect()
}

async fn containers(settings: &Settings) -> Vec<Candidate> {
    let runtimes = settings.runtimes();
    let listed = timeout(LIMIT, list_both(&runtimes, LIMIT, list)).await;
    let containers = listed.map(|found| found.containers).unwrap_or_default();
    let candidates = containers.iter().flat_map(|one| {
        let (id, name) = (one.container.id.short().to_owned(), one.scheduler());
        let by_name = Candidate {
            word: name.clone(),
            help: id.clone(),
        };
        [
            by_name,
            Candidate {
                word: id,
                help: name,
            },
        ]
    });
    candidates.collect()
}

/// The newest first. Kept for a while, because people press the key more than once.
async fn tags(image: &str, settings: &Settings) -> Vec<Candidate> {
    let resolved = Resolution::without_catalog(image)
        .map(Result::ok)
        .unwrap_or_else(|| {
            let catalog = load_stored(&settings.catalog.value, &settings.cache.value);
            catalog.and_then(|catalog| catalog.resolve(image).ok())
        });
    let Some(resolved) = resolved else {
        return Vec::new();
    };
    let repository = resolved.image().repository();
    let cache = TagCache::new(&settings.cache.value, repository);
    let tags = match cache.recent() {
        Some(tags) => tags,
        None => {
            let registry = Client::new(settings.registry.clone());
            match timeout(LIMIT, versions::versions(&registry, repository)).await {
                Ok(Ok(tags)) => {
                    let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
                    cache.write(&tags);
                    tags
                }
                _ => cache.old().unwrap_or_default(),
            }
        }
    };
    let candidate = |word: String| Candidate {
        word,
        help: repository.to_string(),
    };
    tags.into_iter().rev().map(candidate).collect()
}
