//! What is said when the words on the command line are none of ours, or ask for help.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use schedctl_args::args::Format;

use super::failure::Told;
use super::{Nothing, Printer, Shape};
use crate::exit::Exit;

/// Prints what clap has to say. Its own exit code for a wrong word is 2, which means something
/// else here.
pub(crate) fn print(stop: &clap::Error, words: &[OsString]) -> Exit {
    match stop.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = stop.render();
            let _ = write!(anstream::stdout(), "{}", text.ansi());
            Exit::Ok
        }
        _ if wants_json(words) => {
            let text = stop.render().to_string();
            let message = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let message = message.collect::<Vec<_>>().join("; ");
            let message = message.trim_start_matches("error: ").to_owned();
            Printer::new(Format::Json).failure(
                Told::plain(message, Exit::Trouble),
                &Nothing {},
                Shape::Pages,
            );
            Exit::Trouble
        }
        _ => {
            let text = stop.render();
            let _ = write!(anstream::stderr(), "{}", text.ansi());
            Exit::Trouble
        }
    }
}

/// Words that could not be parsed may still say how to complain.
fn wants_json(words: &[OsString]) -> bool {
    let is = |word: &OsString, texts: &[&str]| texts.iter().any(|text| word == text);
    let ours = words.iter().take_while(|word| *word != "--");
    let together = ["-ojson", "-o=json", "--output=json"];
    ours.clone().any(|word| is(word, &together))
        || ours
            .clone()
            .zip(ours.skip(1))
            .any(|(flag, value)| is(flag, &["-o", "--output"]) && value == "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_json_when_json_was_asked_for() {
        for (words, json) in [
            ("x -o json", true),
            ("x -ojson", true),
            ("-o=json", true),
            ("--output json x", true),
            ("--output=json", true),
            ("x -o text json", false),
            ("x -- -o json", false),
            ("x json", false),
        ] {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            assert_eq!(wants_json(&words), json, "{words:?}");
        }
    }
}
