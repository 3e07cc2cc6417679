//! Who decided a setting: a flag counts before the environment, that before the settings file,
//! that before what is usual. Pure.

use std::path::{Path, PathBuf};

/// A value, and who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A word on the command line.
    Flag,
    /// This variable.
    Environment(&'static str),
    /// This file.
    File(PathBuf),
    /// Nobody.
    Default,
}

/// What each of the three says about one setting, the strongest first.
#[derive(Debug, Clone)]
pub(crate) struct Said<T> {
    pub(crate) flag: Option<T>,
    pub(crate) environment: (&'static str, Option<T>),
    pub(crate) file: Option<T>,
}

impl<T> Said<T> {
    /// The strongest word, else what is usual.
    pub(crate) fn or(self, file: Option<&Path>, usual: T) -> Choice<T> {
        let (variable, environment) = self.environment;
        if let Some(value) = self.flag {
            return Choice::new(value, Origin::Flag);
        }
        if let Some(value) = environment {
            return Choice::new(value, Origin::Environment(variable));
        }
        match (self.file, file) {
            (Some(value), Some(path)) => Choice::new(value, Origin::File(path.to_owned())),
            (Some(value), None) => Choice::new(value, Origin::Default),
            (None, _) => Choice::new(usual, Origin::Default),
        }
    }

    /// The same with other values.
    pub(crate) fn map<U>(self, change: impl Fn(T) -> U) -> Said<U> {
        let (variable, environment) = self.environment;
        Said {
            flag: self.flag.map(&change),
            environment: (variable, environment.map(&change)),
            file: self.file.map(&change),
        }
    }
}

impl<T> Choice<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_word_counts_and_is_named() {
        let file = Path::new("/c.toml");
        for (flag, environment, said, value, origin) in [
            (Some(1), Some(2), Some(3), 1, Origin::Flag),
            (None, Some(2), Some(3), 2, Origin::Environment("X")),
            (None, None, Some(3), 3, Origin::File(file.into())),
            (None, None, None, 4, Origin::Default),
        ] {
            let environment = ("X", environment);
            let said = Said {
                flag,
                environment,
                file: said,
            };
            assert_eq!(said.or(Some(file), 4), Choice { value, origin });
        }
    }
}
