//! Why no SchedExt may use a node.

use super::label::CurrentLabel;
use crate::eligibility::{Eligibility, ExclusionReason};
use crate::node::Node;
use crate::observed::Fleet;

/// Why no SchedExt may use the node, if that is so. What the kernel reports counts; while it is
/// unknown, the label does. A quarantine does not end by what the kernel reports.
pub(super) fn exclusion(
    fleet: &Fleet,
    node: &Node,
    label: CurrentLabel<'_>,
) -> Option<ExclusionReason> {
    let reserved = match label {
        CurrentLabel::Reserved(value) => Some(value),
        CurrentLabel::None | CurrentLabel::Owner(..) | CurrentLabel::Invalid(_) => None,
    };
    match (fleet.eligibility.get(&node.name), reserved) {
        (Some(Eligibility::Excluded(reason)), _) => Some(reason.clone()),
        (_, Some("quarantined")) => Some(ExclusionReason::Quarantined),
        (Some(Eligibility::Eligible), _) => None,
        (None, reserved) => reserved.and_then(ExclusionReason::from_label_value),
    }
}
