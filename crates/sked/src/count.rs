//! SchedExts and nodes by state, counted when somebody looks at the metrics.

use sked_api::{ConditionType, Counts, SchedExt};
use sked_plan::OwnerId;

use crate::metrics::NodesOf;
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

/// Each SchedExt's nodes by what became of them, as its status says.
pub(crate) fn nodes_of(stores: &Stores) -> Vec<NodesOf> {
    let mut found = Vec::new();
    for seen in stores.schedexts.all() {
        let Some(schedext) = seen.schedext() else {
            continue;
        };
        let status = schedext.status.as_ref();
        let Some(counts) = status.and_then(|status| status.counts) else {
            continue;
        };
        let key = sked_plan::part::key(schedext);
        found.extend(by_state(counts).map(|(state, count)| NodesOf {
            namespace: key.namespace.clone(),
            schedext: key.name.clone(),
            state,
            count,
        }));
    }
    found
}

fn by_state(counts: Counts) -> impl Iterator<Item = (&'static str, i64)> {
    let Counts {
        desired,
        attached,
        ejected,
        unknown,
        conflicted,
        foreign,
        unsupported,
    } = counts;
    let known = [
        ("desired", desired),
        ("ejected", ejected),
        ("unknown", unknown),
        ("conflicted", conflicted),
        ("foreign", foreign),
        ("unsupported", unsupported),
    ];
    let attached = attached.map(|attached| ("attached", attached));
    let all = known.into_iter().chain(attached);
    all.map(|(state, count)| (state, i64::from(count)))
}
