//! One sentence about what was done.

use jiff::Timestamp;

use super::Document;
use crate::view::message::Message;

impl Document for Message {
    fn text(&self, _: Timestamp) -> String {
        format!(
            "schedext.sked.schedkit.io/{}: {}\n",
            self.schedext, self.message
        )
    }
}
