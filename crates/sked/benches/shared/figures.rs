//! Figures in columns, each with its verdict.

#![allow(dead_code, reason = "each measurement uses its own part of it")]

use std::io::Write;

/// Says a figure, and whether it is small enough.
pub(crate) fn within(name: &str, unit: &str, figure: f64, most: f64) -> anyhow::Result<bool> {
    let word = if figure <= most { "ok" } else { "MISSED" };
    say(&format!(
        "{name:46} {figure:10.2} {unit:3} (at most {most}) {word}"
    ))?;
    Ok(figure <= most)
}

/// Says two columns, and whether ours is a small enough part of theirs.
pub(crate) fn beside(
    name: &str,
    (ours, theirs): (f64, f64),
    whose: &str,
    most: f64,
) -> anyhow::Result<bool> {
    let ratio = ours / theirs;
    let word = if ratio <= most { "ok" } else { "MISSED" };
    say(&format!(
        "{name:46} {ours:10.2} s   {whose} {theirs:.2} s   ratio {ratio:.3} (at most {most}) {word}"
    ))?;
    Ok(ratio <= most)
}

/// Says something.
pub(crate) fn say(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
