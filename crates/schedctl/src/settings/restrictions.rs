//! What the machine's settings file forbids (`forbid`). It holds whichever settings file a run
//! names: who may only run schedctl with `sudo` cannot choose other rules.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use super::policy_source::PolicySource;

/// The machine's settings file.
pub(crate) const MACHINE_FILE: &str = "/etc/schedctl/config.toml";

/// A value of `forbid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Forbidden {
    /// Images without an accepted signature.
    AllowUnsigned,
    /// Another trust policy than the machine's.
    TrustPolicy,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Restrictions {
    forbids_waivers: bool,
    /// The only trust policy that may be used, if there is such a rule.
    only_policy: Option<PolicySource>,
}

/// A type of its own because it has the exit code of an image that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ForbiddenHere {
    #[error(
        "{0} is not allowed on this machine, because {MACHINE_FILE} forbids \"allow-unsigned\": run an \
         image that the trust policy accepts"
    )]
    Waiver(&'static str),
    #[error(
        "only the machine's own trust policy may be used, because {MACHINE_FILE} forbids \
         \"trust-policy\": leave out --trust-policy, SCHEDCTL_TRUST_POLICY and a settings file that has \
         another one"
    )]
    Policy,
}

impl Restrictions {
    /// Nothing is forbidden.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether only the machine's trust policy may be used.
    pub(super) fn fixes_policy(&self) -> bool {
        self.only_policy.is_some()
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            forbids_waivers: self.forbids_waivers || other.forbids_waivers,
            only_policy: self.only_policy.or(other.only_policy),
        }
    }

    /// Of a settings file that forbids this and names this policy.
    pub(super) fn new(forbid: &[Forbidden], policy: Option<&Path>) -> Self {
        let forbids = |what| forbid.contains(&what);
        let policy = policy.map(Path::to_owned);
        let policy = policy.map_or_else(PolicySource::default, PolicySource::from);
        Self {
            forbids_waivers: forbids(Forbidden::AllowUnsigned),
            only_policy: forbids(Forbidden::TrustPolicy).then_some(policy),
        }
    }

    /// `waiver` is the flag, variable or command that allows an unsigned image.
    pub(crate) fn check(
        &self,
        policy: &PolicySource,
        waiver: Option<&'static str>,
    ) -> Result<(), ForbiddenHere> {
        if let (true, Some(waiver)) = (self.forbids_waivers, waiver) {
            return Err(ForbiddenHere::Waiver(waiver));
        }
        let mut only = self.only_policy.iter();
        match only.all(|only| only == policy) {
            true => Ok(()),
            false => Err(ForbiddenHere::Policy),
        }
    }
}

/// As in the settings file.
impl fmt::Display for Restrictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waivers = self.forbids_waivers.then_some("allow-unsigned");
        let policy = self.only_policy.as_ref().map(|_| "trust-policy");
        let names: Vec<&str> = waivers.into_iter().chain(policy).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config_file::ConfigFile;

    fn restrictions(text: &str) -> Restrictions {
        ConfigFile::parse(text).unwrap().own_restrictions()
    }

    #[test]
    fn only_what_is_forbidden_is_refused() {
        let mine = PolicySource::File("/home/a/trust.yaml".into());
        let machines = PolicySource::File("/etc/schedctl/trust.yaml".into());
        let waiver = Some("--allow-unsigned");
        let none = restrictions("");
        assert_eq!(none.check(&mine, waiver), Ok(()));
        let waivers = restrictions("forbid = [\"allow-unsigned\"]");
        assert_eq!(waivers.check(&mine, None), Ok(()));
        assert!(waivers.check(&mine, waiver).is_err());
        let built_in = restrictions("forbid = [\"trust-policy\"]");
        assert_eq!(built_in.check(&PolicySource::default(), waiver), Ok(()));
        assert_eq!(built_in.check(&mine, None), Err(ForbiddenHere::Policy));
        let both = restrictions(
            "forbid = [\"trust-policy\", \"allow-unsigned\"]\ntrust-policy = \"/etc/schedctl/trust.yaml\"",
        );
        assert_eq!(both.check(&machines, None), Ok(()));
        for other in [&mine, &PolicySource::default()] {
            assert_eq!(both.check(other, None), Err(ForbiddenHere::Policy));
        }
    }

    #[test]
    fn an_unknown_rule_is_an_error() {
        let error = ConfigFile::parse("forbid = [\"unsigned\"]").unwrap_err();
        assert_eq!(error.line, 1);
    }
}
