//! Colours, which are removed where the output is no terminal.

use anstyle::{AnsiColor, Style};

pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WAITS: Style = AnsiColor::Yellow.on_default();

/// Of a phase, or of a node's state.
pub(super) fn of(state: &str) -> Style {
    match state {
        "Attached" | "Complete" => GOOD,
        "Attaching" | "Canary" | "Rolling" | "NoPod" | "Unknown" | "Unclaimed" => WAITS,
        _ => BAD,
    }
}

pub(super) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
