//! Prints figures in columns, each with its limit and whether it is met.

use std::io::Write;

/// Prints a figure and whether it is at most `most`.
pub fn within(name: &str, unit: &str, figure: f64, most: f64) -> anyhow::Result<bool> {
    let line = format!("{name:46} {figure:12.2} {unit:5} (at most {most})");
    verdict(&line, figure <= most)
}

/// Prints our figure beside another one, and whether ours is at most `most` times theirs.
pub fn beside(
    name: &str,
    unit: &str,
    ours: f64,
    (whose, theirs): (&str, f64),
    most: f64,
) -> anyhow::Result<bool> {
    let ratio = ours / theirs;
    let figures = format!("{ours:12.2} {unit:5} {whose} {theirs:.2} {unit}");
    let line = format!("{name:46} {figures}  ratio {ratio:.3} (at most {most})");
    verdict(&line, ratio <= most)
}

fn verdict(line: &str, met: bool) -> anyhow::Result<bool> {
    let word = if met { "ok" } else { "MISSED" };
    print(&format!("{line} {word}"))?;
    Ok(met)
}

pub fn print(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
