//! Help, version, and errors in the command line.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;

use super::printer::Printer;
use crate::exit::Exit;

/// Prints clap's message. clap's own exit code 2 has another meaning here.
pub(crate) fn print(error: &clap::Error, argv: &[OsString]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let _ = write!(anstream::stdout(), "{}", text.ansi());
            Exit::Ok
        }
        _ if wants_json(argv) => {
            Printer::usage_error(message(error));
            Exit::Failure
        }
        _ => {
            let text = error.render();
            let _ = write!(anstream::stderr(), "{}", text.ansi());
            Exit::Failure
        }
    }
}

/// In one line.
pub(crate) fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.collect::<Vec<_>>().join("; ");
    message.trim_start_matches("error: ").to_owned()
}

/// The output format of arguments that could not be parsed.
fn wants_json(argv: &[OsString]) -> bool {
    let is = |arg: &OsString, texts: &[&str]| texts.iter().any(|text| arg == text);
    let ours = argv.iter().take_while(|arg| *arg != "--");
    let together = ["-ojson", "-o=json", "--output=json"];
    ours.clone().any(|arg| is(arg, &together))
        || ours
            .clone()
            .zip(ours.skip(1))
            .any(|(flag, value)| is(flag, &["-o", "--output"]) && value == "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_json_if_json_was_requested() {
        for (line, json) in [
            ("x -o json", true),
            ("x -ojson", true),
            ("-o=json", true),
            ("--output json x", true),
            ("--output=json", true),
            ("x -o text json", false),
            ("x -- -o json", false),
            ("x json", false),
        ] {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(wants_json(&argv), json, "{line}");
        }
    }
}
