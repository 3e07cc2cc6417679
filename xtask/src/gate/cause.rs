//! What a failed command's output says about the cause, in one line.

/// How many tests passed, by the closing lines of Rust's test harness.
pub(super) fn passed(lines: &[String]) -> usize {
    let counts = lines.iter().filter_map(|line| {
        let (_, rest) = line.strip_prefix("test result: ")?.split_once(". ")?;
        rest.split_once(" passed")?.0.parse::<usize>().ok()
    });
    counts.sum()
}

/// The most telling line: a full disk before everything, then the first panic with its test, then
/// the last line that is not empty.
pub(super) fn of(lines: &[String]) -> Option<String> {
    let full = |line: &&String| line.contains("No space left on device");
    if let Some(line) = lines.iter().find(full) {
        return Some(format!(
            "the disk is full ({}); free some space",
            line.trim()
        ));
    }
    panic(lines).or_else(|| error(lines)).or_else(|| {
        let last = lines.iter().rev().find(|line| !line.trim().is_empty());
        last.map(|line| line.trim().to_owned())
    })
}

/// `thread 'NAME' (1) panicked at FILE:LINE:COLUMN:`, then the message.
fn panic(lines: &[String]) -> Option<String> {
    let at = lines
        .iter()
        .position(|line| line.contains("panicked at "))?;
    let test = lines[at].split('\'').nth(1).unwrap_or("a test");
    let message = lines.get(at + 1).map_or("it panicked", |line| line.trim());
    Some(format!("{test}: {message}"))
}

/// What cargo, make and our own programs write.
fn error(lines: &[String]) -> Option<String> {
    let is_error = |line: &&String| line.starts_with("error: ") || line.starts_with("schedkit: ");
    lines
        .iter()
        .find(is_error)
        .map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_first_panic_is_the_cause() {
        let output = "running 2 tests\ntest a ... FAILED\n\n---- a stdout ----\n\
                      thread 'a' (12) panicked at e2e/src/wait.rs:3:5:\n\
                      scx_lab is attached: not within 120s\nnote: run with\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored";
        let output = lines(output);
        assert_eq!(
            of(&output).as_deref(),
            Some("a: scx_lab is attached: not within 120s")
        );
        assert_eq!(passed(&output), 1);
    }

    #[test]
    fn a_full_disk_is_named_before_what_came_of_it() {
        let output =
            lines("thread 'a' panicked at x:\nunwrap\ncp: No space left on device (os error 28)");
        assert!(of(&output).is_some_and(|cause| cause.starts_with("the disk is full")));
    }

    #[test]
    fn without_a_panic_an_error_line_or_the_last_line_tells() {
        let output = lines("Compiling\nerror: could not compile `sked`\nwarning: more\n");
        assert_eq!(
            of(&output).as_deref(),
            Some("error: could not compile `sked`")
        );
        assert_eq!(of(&lines("a\nb\n\n")).as_deref(), Some("b"));
        assert_eq!(of(&[]), None);
    }
}
