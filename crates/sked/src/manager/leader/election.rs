//! The rules of the election, after client-go's: no I/O, with the clocks as parameters.
//!
//! - The renewal of another manager counts from the time at which this process saw it. The times
//!   in the lease are for people and are never compared.
//! - A write carries the resource version that was read: of two concurrent writes one fails.
//! - An empty holder means that the lease was released.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;

use crate::manager::boot_clock::BootInstant;

/// The name of the Lease.
pub(super) const LEASE: &str = "b4c95cb3.schedkit.io";

/// The next write of the lease.
#[derive(Debug, PartialEq)]
pub(super) enum LeaseAction {
    Create(Lease),
    /// The lease is ours, free or expired: replace the version that was read.
    Update(Lease),
    /// Another manager holds it.
    Wait,
}

/// What this manager knows about the lease.
#[derive(Debug)]
pub(super) struct Election {
    identity: String,
    duration: Duration,
    /// The lease as it was read last, and since when it has been so.
    seen: Option<(Lease, BootInstant)>,
    /// Whether `seen` has the latest resource version that we know of.
    current: bool,
}

impl Election {
    pub(super) fn new(identity: String, duration: Duration) -> Self {
        Self {
            identity,
            duration,
            seen: None,
            current: false,
        }
    }

    /// The holder, if it is another manager.
    pub(super) fn holder(&self) -> Option<&str> {
        let (lease, _) = self.seen.as_ref()?;
        let holder = holder(lease)?;
        (holder != self.identity).then_some(holder)
    }

    /// A renewal without reading the lease, if it is ours and its version is known.
    pub(super) fn renew(&self, wall: Timestamp) -> Option<LeaseAction> {
        let (lease, _) = self.seen.as_ref().filter(|_| self.current)?;
        (holder(lease) == Some(&self.identity))
            .then(|| LeaseAction::Update(self.taken(lease, wall)))
    }

    /// Decides after the lease was read.
    pub(super) fn decide(
        &mut self,
        lease: Option<Lease>,
        now: BootInstant,
        wall: Timestamp,
    ) -> LeaseAction {
        let Some(lease) = lease else {
            self.seen = None;
            return LeaseAction::Create(self.first(wall));
        };
        let known = self.seen.take();
        let since = match known {
            Some((before, since)) if before.spec == lease.spec => since,
            _ => now,
        };
        let free = match holder(&lease) {
            None => true,
            Some(holder) => holder == self.identity || since.plus(self.duration) < now,
        };
        let next = match free {
            true => LeaseAction::Update(self.taken(&lease, wall)),
            false => LeaseAction::Wait,
        };
        self.seen = Some((lease, since));
        next
    }

    /// Our write succeeded: this is the lease now.
    pub(super) fn wrote(&mut self, lease: Lease) {
        self.seen = Some((lease, BootInstant::now()));
        self.current = true;
    }

    /// Our write failed or timed out: the version that we know may be outdated.
    pub(super) fn forget_version(&mut self) {
        self.current = false;
    }

    /// The released lease; `None` if it is not ours.
    pub(super) fn release(&self, wall: Timestamp) -> Option<Lease> {
        let (lease, _) = self.seen.as_ref()?;
        (holder(lease) == Some(&self.identity)).then(|| {
            let mut released = lease.clone();
            let spec = released.spec.get_or_insert_default();
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.acquire_time = Some(MicroTime(wall));
            spec.renew_time = Some(MicroTime(wall));
            released
        })
    }

    fn first(&self, wall: Timestamp) -> Lease {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(LEASE.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec::default()),
        };
        let mut lease = self.taken(&lease, wall);
        lease.spec.get_or_insert_default().lease_transitions = Some(0);
        lease
    }

    /// The same lease with this manager as its holder.
    fn taken(&self, lease: &Lease, wall: Timestamp) -> Lease {
        let again = holder(lease) == Some(&self.identity);
        let mut lease = lease.clone();
        let spec = lease.spec.get_or_insert_default();
        if !again {
            spec.acquire_time = Some(MicroTime(wall));
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default() + 1);
        }
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(self.duration.as_secs()).ok();
        spec.renew_time = Some(MicroTime(wall));
        lease
    }
}

fn holder(lease: &Lease) -> Option<&str> {
    let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
    (!holder.is_empty()).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> BootInstant {
        BootInstant::after_boot(Duration::from_secs(seconds))
    }

    fn wall(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn candidate(name: &str) -> Election {
        Election::new(name.to_owned(), DURATION)
    }

    /// The lease as `who` acquires it.
    fn lease_of(who: &str, at_wall: i64) -> Lease {
        match candidate(who).decide(None, at(0), wall(at_wall)) {
            LeaseAction::Create(lease) => lease,
            other => panic!("{other:?}"),
        }
    }

    fn spec(next: LeaseAction) -> LeaseSpec {
        match next {
            LeaseAction::Create(lease) | LeaseAction::Update(lease) => lease.spec.unwrap(),
            LeaseAction::Wait => panic!("it waits"),
        }
    }

    #[test]
    fn a_lease_is_taken_over_only_after_a_lease_duration_on_this_clock() {
        let mut two = candidate("two");
        // The other's clock is a year ahead or behind: it must not matter.
        for year in [-31_000_000, 31_000_000] {
            let lease = lease_of("one", year);
            let begin = 1_000;
            assert_eq!(
                two.decide(Some(lease.clone()), at(begin), wall(0)),
                LeaseAction::Wait
            );
            assert_eq!(
                two.decide(Some(lease.clone()), at(begin + 15), wall(0)),
                LeaseAction::Wait
            );
            let taken = spec(two.decide(Some(lease), at(begin + 16), wall(0)));
            assert_eq!(taken.holder_identity.as_deref(), Some("two"));
            assert_eq!(taken.lease_transitions, Some(1));
            two = candidate("two");
        }
    }

    #[test]
    fn every_observed_renewal_restarts_the_wait() {
        let mut two = candidate("two");
        for second in 0..100 {
            let renewed = lease_of("one", second);
            let now = at(u64::try_from(second).unwrap() * 14);
            assert_eq!(two.decide(Some(renewed), now, wall(0)), LeaseAction::Wait);
        }
    }

    #[test]
    fn a_released_lease_is_taken_at_once() {
        let mut one = candidate("one");
        one.wrote(lease_of("one", 0));
        let released = one.release(wall(5)).unwrap();
        assert_eq!(
            released.spec.as_ref().unwrap().lease_duration_seconds,
            Some(1)
        );
        let taken = spec(candidate("two").decide(Some(released), at(0), wall(6)));
        assert_eq!(taken.holder_identity.as_deref(), Some("two"));
        assert_eq!(taken.lease_duration_seconds, Some(15));
    }

    #[test]
    fn the_holder_renews_without_reading_until_a_write_fails() {
        let mut one = candidate("one");
        assert_eq!(one.renew(wall(0)), None);
        one.wrote(lease_of("one", 0));
        let renewed = spec(one.renew(wall(7)).unwrap());
        assert_eq!(renewed.renew_time, Some(MicroTime(wall(7))));
        assert_eq!(renewed.acquire_time, Some(MicroTime(wall(0))));
        assert_eq!(renewed.lease_transitions, Some(0));
        one.forget_version();
        assert_eq!(one.renew(wall(8)), None);
        // A lease of another manager is neither renewed nor released.
        assert_eq!(
            one.decide(Some(lease_of("two", 0)), at(0), wall(8)),
            LeaseAction::Wait
        );
        assert_eq!(one.holder(), Some("two"));
        assert_eq!(one.release(wall(9)), None);
    }
}
