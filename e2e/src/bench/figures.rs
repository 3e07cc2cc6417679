//! Prints figures in columns, each with its limit and whether it is met.

use std::io::Write;

/// Prints a figure and whether it is at most `most`.
pub fn within(name: &str, unit: &str, figure: f64, most: f64) -> anyhow::Result<bool> {
    let verdict = if figure <= most { "ok" } else { "MISSED" };
    print(&format!(
        "{name:46} {figure:10.2} {unit:3} (at most {most}) {verdict}"
    ))?;
    Ok(figure <= most)
}

/// Prints two columns and whether ours is at most `most` times theirs.
pub fn beside(
    name: &str,
    (ours, theirs): (f64, f64),
    whose: &str,
    most: f64,
) -> anyhow::Result<bool> {
    let ratio = ours / theirs;
    let verdict = if ratio <= most { "ok" } else { "MISSED" };
    print(&format!(
        "{name:46} {ours:10.2} s   {whose} {theirs:.2} s   ratio {ratio:.3} (at most {most}) {verdict}"
    ))?;
    Ok(ratio <= most)
}

pub fn print(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
