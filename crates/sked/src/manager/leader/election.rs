//! The rules of the election, after client-go's: pure, with the clocks as parameters.
//!
//! - Another's renewal counts from the moment that it was seen here. What its clock says is
//!   written down for people and never compared.
//! - A write carries the version that was seen: of two who try, one wins.
//! - An empty holder means that the lease was given back.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::ObjectMeta;

use crate::clock::Moment;

/// What to do about the lease.
#[derive(Debug, PartialEq)]
pub(super) enum Move {
    /// There is none: make it.
    Create(Lease),
    /// It is ours, free or outlived: write this over the version that was seen.
    Update(Lease),
    /// It is somebody else's.
    Wait,
}

/// What a candidate knows.
#[derive(Debug)]
pub(super) struct Election {
    identity: String,
    duration: Duration,
    /// The lease as it was seen last, and when it was first seen so.
    seen: Option<(Lease, Moment)>,
    /// Whether the version of `seen` is the latest that we know of.
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

    /// Who has the lease, if it is somebody else.
    pub(super) fn holder(&self) -> Option<&str> {
        let (lease, _) = self.seen.as_ref()?;
        let holder = holder(lease)?;
        (holder != self.identity).then_some(holder)
    }

    /// A renewal without a look, when the lease is ours and its version is known.
    pub(super) fn renew(&self, wall: Timestamp) -> Option<Move> {
        let (lease, _) = self.seen.as_ref().filter(|_| self.current)?;
        (holder(lease) == Some(&self.identity)).then(|| Move::Update(self.taken(lease, wall)))
    }

    /// What to do, now that the lease was looked at.
    pub(super) fn decide(&mut self, lease: Option<Lease>, now: Moment, wall: Timestamp) -> Move {
        let Some(lease) = lease else {
            self.seen = None;
            return Move::Create(self.first(wall));
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
            true => Move::Update(self.taken(&lease, wall)),
            false => Move::Wait,
        };
        self.seen = Some((lease, since));
        next
    }

    /// Our write was taken: this is the lease now.
    pub(super) fn wrote(&mut self, lease: Lease) {
        self.seen = Some((lease, Moment::now()));
        self.current = true;
    }

    /// Our write was refused or went unanswered: the version that we know may be outdated.
    pub(super) fn forget_version(&mut self) {
        self.current = false;
    }

    /// The lease given back; nothing when it is not ours to give.
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
                name: Some(super::LEASE.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec::default()),
        };
        let mut lease = self.taken(&lease, wall);
        lease.spec.get_or_insert_default().lease_transitions = Some(0);
        lease
    }

    /// The same lease with us as its holder.
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

    fn at(seconds: u64) -> Moment {
        Moment::after_boot(Duration::from_secs(seconds))
    }

    fn wall(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn candidate(name: &str) -> Election {
        Election::new(name.to_owned(), DURATION)
    }

    /// The lease as `who` takes it.
    fn lease_of(who: &str, at_wall: i64) -> Lease {
        match candidate(who).decide(None, at(0), wall(at_wall)) {
            Move::Create(lease) => lease,
            other => panic!("{other:?}"),
        }
    }

    fn spec(next: Move) -> LeaseSpec {
        match next {
            Move::Create(lease) | Move::Update(lease) => lease.spec.unwrap(),
            Move::Wait => panic!("it waits"),
        }
    }

    #[test]
    fn a_silent_holder_is_succeeded_only_after_a_lease_seen_here() {
        let mut two = candidate("two");
        // The other's clock is a year ahead or behind: it must not matter.
        for year in [-31_000_000, 31_000_000] {
            let lease = lease_of("one", year);
            let begin = 1_000;
            assert_eq!(
                two.decide(Some(lease.clone()), at(begin), wall(0)),
                Move::Wait
            );
            assert_eq!(
                two.decide(Some(lease.clone()), at(begin + 15), wall(0)),
                Move::Wait
            );
            let taken = spec(two.decide(Some(lease), at(begin + 16), wall(0)));
            assert_eq!(taken.holder_identity.as_deref(), Some("two"));
            assert_eq!(taken.lease_transitions, Some(1));
            two = candidate("two");
        }
    }

    #[test]
    fn every_renewal_that_is_seen_starts_the_wait_anew() {
        let mut two = candidate("two");
        for second in 0..100 {
            let renewed = lease_of("one", second);
            let now = at(u64::try_from(second).unwrap() * 14);
            assert_eq!(two.decide(Some(renewed), now, wall(0)), Move::Wait);
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
    fn the_holder_renews_without_a_look_until_a_write_is_refused() {
        let mut one = candidate("one");
        assert_eq!(one.renew(wall(0)), None);
        one.wrote(lease_of("one", 0));
        let renewed = spec(one.renew(wall(7)).unwrap());
        assert_eq!(renewed.renew_time, Some(MicroTime(wall(7))));
        assert_eq!(renewed.acquire_time, Some(MicroTime(wall(0))));
        assert_eq!(renewed.lease_transitions, Some(0));
        one.forget_version();
        assert_eq!(one.renew(wall(8)), None);
        // Somebody else has it: then it is neither renewed nor released.
        assert_eq!(
            one.decide(Some(lease_of("two", 0)), at(0), wall(8)),
            Move::Wait
        );
        assert_eq!(one.holder(), Some("two"));
        assert_eq!(one.release(wall(9)), None);
    }
}
