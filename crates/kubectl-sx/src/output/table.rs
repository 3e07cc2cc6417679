//! Aligned columns.

use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::style::BOLD;

/// A heading and rows.
pub(super) fn columns<const N: usize>(
    heading: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.add_row(heading);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    let text = table.trim_fmt();
    let mut lines = text.lines().map(str::trim_end);
    let first = lines.next().unwrap_or_default();
    let rest: String = lines.map(|line| format!("{line}\n")).collect();
    format!("{BOLD}{first}{BOLD:#}\n{rest}")
}

/// A value that may be missing.
pub(super) fn cell(value: Option<&str>) -> String {
    value.unwrap_or("-").to_owned()
}
