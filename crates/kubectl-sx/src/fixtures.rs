//! What tests of several files share.

use crate::output::Document;

/// The text of a document at that time, without colours.
pub(crate) fn plain(document: &impl Document, now: &str) -> String {
    let now = now.parse();
    let text = document.text(now.unwrap_or_default());
    anstream::adapter::strip_str(&text).to_string()
}
