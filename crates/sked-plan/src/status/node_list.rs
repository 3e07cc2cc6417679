//! Names of nodes in a message: the first few, and how many more.

const SHOWN: usize = 3;

pub(super) fn node_list(nodes: &[&str]) -> String {
    let shown = nodes.iter().take(SHOWN).copied().collect::<Vec<_>>();
    match nodes.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
