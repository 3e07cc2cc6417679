//! A role and its rights, as plain data.

/// A verb and why it is needed.
pub(super) struct Verb(pub(super) &'static str, pub(super) &'static str);

/// Where a role's rights hold once it is bound.
pub(super) enum Scope {
    Cluster,
    Namespace(&'static str),
}

/// What may be done with one kind of thing.
pub(super) struct Grant {
    pub(super) group: &'static str,
    /// A resource, or a path when it begins with a slash.
    pub(super) what: &'static str,
    /// Only those of that name; all when empty.
    pub(super) names: &'static [&'static str],
    pub(super) verbs: &'static [Verb],
}

/// A role and who has it.
pub(super) struct Role {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) scope: Scope,
    pub(super) used_by: &'static str,
    pub(super) grants: &'static [Grant],
}

impl Grant {
    pub(super) const fn of(
        group: &'static str,
        what: &'static str,
        verbs: &'static [Verb],
    ) -> Self {
        Self {
            group,
            what,
            names: &[],
            verbs,
        }
    }

    pub(super) const fn path(what: &'static str, verbs: &'static [Verb]) -> Self {
        Self::of("", what, verbs)
    }
}
