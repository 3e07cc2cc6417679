//! To which revision a person goes back.

use sked_api::{GoodRevision, SchedExt};

use super::fail::is_of;

/// The revision that a spec had before: the last good one, or the one before that if the spec asks
/// for the last good one.
pub fn undone(schedext: &SchedExt) -> Option<&GoodRevision> {
    let status = schedext.status.as_ref()?;
    let good = [&status.last_good, &status.previous_good].into_iter();
    good.filter_map(|good| good.as_deref())
        .find(|good| !is_of(good, schedext))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Map, Value, json};
    use sked_api::SchedExtStatus;

    use super::*;
    use crate::fixture;
    use crate::revision::{revision, selection};
    use crate::rollout::put_back;

    fn version(number: u32) -> SchedExt {
        fixture::schedext("a", json!({"sched": format!("x:{number}"), "priority": 7}))
    }

    fn good(number: u32) -> GoodRevision {
        let schedext = version(number);
        GoodRevision {
            revision: revision(&schedext),
            selection: selection(&schedext),
            since: Time(jiff::Timestamp::UNIX_EPOCH),
            verified: false,
            policy: None,
            spec: json!({"sched": format!("x:{number}")})
                .as_object()
                .unwrap()
                .clone(),
        }
    }

    fn with(spec: u32, last: Option<u32>, previous: Option<u32>) -> SchedExt {
        SchedExt {
            status: Some(SchedExtStatus {
                last_good: last.map(good).map(Box::new),
                previous_good: previous.map(good).map(Box::new),
                ..SchedExtStatus::default()
            }),
            ..version(spec)
        }
    }

    #[test]
    fn a_finished_roll_out_is_undone_to_the_one_before_and_any_other_to_the_last_good_one() {
        let undone = |schedext: &SchedExt| undone(schedext).map(|good| good.revision.clone());
        let revision = |number| Some(good(number).revision);
        assert_eq!(undone(&with(2, Some(2), Some(1))), revision(1));
        assert_eq!(undone(&with(3, Some(2), Some(1))), revision(2));
        assert_eq!(undone(&with(1, Some(1), None)), None);
        assert_eq!(undone(&with(1, None, None)), None);
        assert_eq!(undone(&version(1)), None);
    }

    #[test]
    fn a_spec_is_put_back_and_the_rest_of_it_stays() {
        let mut spec: Map<String, Value> =
            json!({"sched": "x:2", "args": ["-v"], "priority": 7, "newer": 1})
                .as_object()
                .unwrap()
                .clone();
        put_back(&mut spec, &good(1));
        assert_eq!(
            Value::Object(spec),
            json!({"sched": "x:1", "priority": 7, "newer": 1})
        );
    }
}
