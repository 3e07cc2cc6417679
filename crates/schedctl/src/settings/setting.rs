//! A value and where it comes from.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    /// Name of the variable.
    Environment(&'static str),
    File(PathBuf),
    Default,
}

impl<T> Setting<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The first value that is set, by precedence.
    pub(super) fn first(
        flag: Option<T>,
        environment: (&'static str, Option<T>),
        file: (Option<T>, Origin),
        default: T,
    ) -> Self {
        let flag = flag.map(|value| (value, Origin::Flag));
        let variable = |value| (value, Origin::Environment(environment.0));
        let (value, origin) = flag
            .or_else(|| environment.1.map(variable))
            .or_else(|| file.0.map(|value| (value, file.1)))
            .unwrap_or((default, Origin::Default));
        Self { value, origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_by_precedence_is_used_and_its_origin_kept() {
        let file = Origin::File("/c.toml".into());
        for (flag, environment, in_file, value, origin) in [
            (Some(1), Some(2), Some(3), 1, Origin::Flag),
            (None, Some(2), Some(3), 2, Origin::Environment("X")),
            (None, None, Some(3), 3, file.clone()),
            (None, None, None, 4, Origin::Default),
        ] {
            let setting = Setting::first(flag, ("X", environment), (in_file, file.clone()), 4);
            assert_eq!(setting, Setting { value, origin });
        }
    }
}
