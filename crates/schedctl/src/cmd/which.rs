//! From what was typed to a container of ours: a scheduler's name, a container's name, or its id or
//! the beginning of one.

use crate::status::{Held, scheduler_of};

/// Shorter beginnings of ids are too likely to be typing errors.
const SHORTEST: usize = 4;

/// Why a word means no container.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WhichError {
    /// Nothing is called that.
    #[error("no container of schedctl's is called {word:?}: {}", all(.there))]
    None {
        /// What was typed.
        word: String,
        /// What there is.
        there: Vec<String>,
    },
    /// Nothing was typed, and it is not clear which one is meant.
    #[error("say which one: {}", all(.0))]
    Unclear(Vec<String>),
    /// Several are.
    #[error("{word:?} may mean {}: say its id", .which.join(" or "))]
    Several {
        /// What was typed.
        word: String,
        /// Their ids.
        which: Vec<String>,
    },
}

/// The one that is meant.
pub(super) fn which<'a>(word: &str, ours: &'a [Held]) -> Result<&'a Held, WhichError> {
    let word = word.to_owned();
    let mut matching: Vec<&Held> = ours.iter().filter(|held| is_called(held, &word)).collect();
    // Whoever says a name means the one that runs.
    if matching.iter().filter(|held| held.is_live()).count() == 1 {
        matching.retain(|held| held.is_live());
    }
    match matching.as_slice() {
        [one] => Ok(one),
        [] => {
            let there = ours.iter().map(|held| scheduler_of(&held.container));
            let there = there.collect();
            Err(WhichError::None { word, there })
        }
        several => {
            let which = several
                .iter()
                .map(|held| held.container.id.short().to_owned());
            let which = which.collect();
            Err(WhichError::Several { word, which })
        }
    }
}

/// The one that runs, or the only one there is.
pub(super) fn only(ours: &[Held]) -> Result<&Held, WhichError> {
    let live: Vec<&Held> = ours.iter().filter(|held| held.is_live()).collect();
    match (live.as_slice(), ours) {
        ([one], _) => Ok(one),
        ([], [one]) => Ok(one),
        _ => {
            let which = ours.iter().map(|held| scheduler_of(&held.container));
            Err(WhichError::Unclear(which.collect()))
        }
    }
}

fn is_called(held: &Held, word: &str) -> bool {
    let container = &held.container;
    let id = container.id.as_str();
    container.name == word
        || scheduler_of(container) == word
        || id == word
        || (word.len() >= SHORTEST && id.starts_with(word))
}

fn all(names: &[String]) -> String {
    match names {
        [] => "there is none".to_owned(),
        names => format!("there is {}", names.join(", ")),
    }
}
