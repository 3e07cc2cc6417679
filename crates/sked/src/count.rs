//! SchedExts and nodes by state, counted when somebody looks at the metrics.

use sked_api::{ConditionType, SchedExt};
use sked_plan::OwnerId;

use crate::stores::Stores;

/// By what their conditions say; one state each, the worst first.
pub(crate) fn schedexts(stores: &Stores) -> Vec<(&'static str, usize)> {
    let mut counts = [
        ("unreadable", 0),
        ("degraded", 0),
        ("conflicted", 0),
        ("progressing", 0),
        ("ready", 0),
        ("unknown", 0),
    ];
    for seen in stores.schedexts.all() {
        let state = seen
            .schedext()
            .map_or("unreadable", |schedext| state(schedext));
        for (name, count) in &mut counts {
            *count += usize::from(*name == state);
        }
    }
    counts.into()
}

fn state(schedext: &SchedExt) -> &'static str {
    let conditions = schedext.status.iter().flat_map(|status| &status.conditions);
    let holds = |kind: ConditionType| {
        let mut conditions = conditions.clone();
        conditions.any(|one| one.type_ == kind.as_str() && one.status == "True")
    };
    let states = [
        (ConditionType::Degraded, "degraded"),
        (ConditionType::Conflicted, "conflicted"),
        (ConditionType::Progressing, "progressing"),
        (ConditionType::Ready, "ready"),
    ];
    let state = states.into_iter().find(|(kind, _)| holds(*kind));
    state.map_or("unknown", |(_, state)| state)
}

/// By their owner label: owned, free, or reserved for another reason.
pub(crate) fn nodes(stores: &Stores) -> Vec<(&'static str, usize)> {
    let [mut free, mut owned, mut reserved] = [0; 3];
    for node in stores.nodes.all() {
        let owner = node.labels.get(sked_api::label::OWNER);
        match owner.map(|owner| owner.parse::<OwnerId>()) {
            None => free += 1,
            Some(Ok(_)) => owned += 1,
            Some(Err(_)) => reserved += 1,
        }
    }
    vec![("free", free), ("owned", owned), ("reserved", reserved)]
}
