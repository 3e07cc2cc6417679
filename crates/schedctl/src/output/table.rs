//! Names on the left, values on the right; or columns.

use anstyle::Style;
use comfy_table::Table;
use comfy_table::presets::NOTHING;

const NAME: Style = Style::new().bold();

/// One line a field; fields without a value are left out.
pub(super) fn fields(rows: &[(&str, Option<String>)]) -> String {
    let present = |(name, value): &(&str, Option<String>)| {
        let value = value.clone()?;
        Some([format!("{name}:"), value])
    };
    let rows: Vec<[String; 2]> = rows.iter().filter_map(present).collect();
    let width = rows.iter().map(|row| row[0].len()).max().unwrap_or(0);
    let mut table = Table::new();
    table.load_style(NOTHING).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let styled = |line: &str| match line.split_at_checked(width) {
        Some((name, value)) => format!("{NAME}{name}{NAME:#}{}\n", value.trim_end()),
        None => format!("{line}\n"),
    };
    table.trim_fmt().lines().map(styled).collect()
}

/// A head and rows below it, as wide as they need to be.
pub(super) fn columns<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).add_row(head).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.trim_fmt();
    let lines = lines.lines().enumerate().map(|(number, line)| {
        let line = line.trim_end();
        match number {
            0 => format!("{NAME}{line}{NAME:#}\n"),
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}
