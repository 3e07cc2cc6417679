//! `kubectl sx rollout status`.

use jiff::Timestamp;

use super::Document;
use super::style::{of, styled};
use crate::view::rollout::RolloutView;

impl Document for RolloutView {
    fn text(&self, _: Timestamp) -> String {
        let phase = self.phase.map(|phase| styled(of(phase), phase) + ": ");
        format!(
            "{} revision {}: {}{}\n",
            self.schedext,
            self.revision,
            phase.unwrap_or_default(),
            self.message
        )
    }
}
