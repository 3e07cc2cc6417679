//! Aligned columns, for every text form that has them.

use std::iter::repeat_n;

use anstyle::Style;
use comfy_table::Table;
use comfy_table::presets::NOTHING;

const BOLD: Style = Style::new().bold();

/// The style is that of the first cell.
pub(super) struct Row {
    pub(super) style: Style,
    pub(super) cells: Vec<String>,
}

/// One line per field; fields without a value are omitted.
pub(super) fn fields(fields: &[(&str, Option<String>)]) -> String {
    render(fields.iter().filter_map(|(name, value)| {
        Some(Row {
            style: BOLD,
            cells: vec![format!("{name}:"), value.clone()?],
        })
    }))
}

/// A heading and rows.
pub(super) fn columns<const N: usize>(
    heading: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let rows = rows.map(|cells| Row {
        style: Style::new(),
        cells: cells.to_vec(),
    });
    let text = render(rows_with(heading, rows));
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{BOLD}{first}{BOLD:#}\n{rest}")
}

fn rows_with<const N: usize>(
    heading: [&str; N],
    rows: impl Iterator<Item = Row>,
) -> impl Iterator<Item = Row> {
    let heading = Row {
        style: Style::new(),
        cells: heading.map(str::to_owned).to_vec(),
    };
    [heading].into_iter().chain(rows)
}

pub(super) fn render(rows: impl IntoIterator<Item = Row>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let (mut styles, mut width) = (Vec::new(), 0);
    for Row { style, cells } in rows {
        let height = cells.iter().map(|cell| cell.lines().count().max(1)).max();
        styles.extend(repeat_n(style, height.unwrap_or(1)));
        width = width.max(cells.first().map_or(0, |cell| cell.chars().count()));
        table.add_row(cells);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.trim_fmt();
    let lines = text.lines().zip(styles).map(|(line, style)| {
        let end = line
            .char_indices()
            .nth(width)
            .map_or(line.len(), |(at, _)| at);
        let (first, rest) = line.split_at(end);
        format!("{style}{first}{style:#}{}\n", rest.trim_end())
    });
    lines.collect()
}
