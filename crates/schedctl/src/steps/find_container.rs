//! From a name on the command line to a container of schedctl: a scheduler's name, a container's
//! name, its id, or the first characters of the id.

use crate::container::RuntimeContainer;

/// A shorter prefix of an id is probably a typing error.
const MIN_ID_PREFIX: usize = 4;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FindError {
    #[error("no container of schedctl matches {target:?} (existing: {})", list(.existing))]
    NotFound {
        target: String,
        existing: Vec<String>,
    },
    /// No name was given, and there is not exactly one candidate.
    #[error("a name or id is needed (existing: {})", list(.0))]
    NameNeeded(Vec<String>),
    #[error("{target:?} is ambiguous, it may be {}: use the id", .ids.join(" or "))]
    Ambiguous { target: String, ids: Vec<String> },
}

impl FindError {
    /// Whether there is no such container, rather than several.
    pub(crate) fn is_absence(&self) -> bool {
        match self {
            Self::NotFound { .. } => true,
            Self::NameNeeded(existing) => existing.is_empty(),
            Self::Ambiguous { .. } => false,
        }
    }
}

pub(crate) fn find<'a>(
    target: &str,
    containers: &'a [RuntimeContainer],
) -> Result<&'a RuntimeContainer, FindError> {
    let matching = containers.iter().filter(|one| matches(one, target));
    let mut matching: Vec<&RuntimeContainer> = matching.collect();
    // A running container takes precedence over stopped ones of the same name.
    if matching.iter().filter(|one| one.is_live()).count() == 1 {
        matching.retain(|one| one.is_live());
    }
    let target = target.to_owned();
    match matching.as_slice() {
        [one] => Ok(one),
        [] => Err(FindError::NotFound {
            target,
            existing: names(containers),
        }),
        several => {
            let ids = several.iter().map(|one| one.container.id.short());
            let ids = ids.map(str::to_owned).collect();
            Err(FindError::Ambiguous { target, ids })
        }
    }
}

/// The running container, or the only one.
pub(crate) fn only(containers: &[RuntimeContainer]) -> Result<&RuntimeContainer, FindError> {
    let live = containers.iter().filter(|one| one.is_live());
    match (live.collect::<Vec<_>>().as_slice(), containers) {
        ([one], _) => Ok(one),
        ([], [one]) => Ok(one),
        _ => Err(FindError::NameNeeded(names(containers))),
    }
}

/// The running container; `None` if none runs. Containers that are left over do not count.
pub(crate) fn running(
    containers: &[RuntimeContainer],
) -> Result<Option<&RuntimeContainer>, FindError> {
    let live = containers.iter().filter(|one| one.is_live());
    match live.collect::<Vec<_>>().as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => {
            let names = several.iter().map(|one| one.scheduler());
            Err(FindError::NameNeeded(names.collect()))
        }
    }
}

fn matches(one: &RuntimeContainer, target: &str) -> bool {
    let id = one.container.id.as_str();
    one.container.name == target
        || one.scheduler() == target
        || id == target
        || (target.len() >= MIN_ID_PREFIX && id.starts_with(target))
}

fn names(containers: &[RuntimeContainer]) -> Vec<String> {
    containers.iter().map(RuntimeContainer::scheduler).collect()
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
