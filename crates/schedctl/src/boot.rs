//! A scheduler from the machine's start on: the systemd unit, and under which name an instance of
//! it stands for an image. Pure; `cmd/enable.rs` puts it in its place.

/// What a distribution installs as it is.
const UNIT: &str = include_str!("../systemd/schedctl@.service");
const USUAL_PROGRAM: &str = "/usr/bin/schedctl";

/// The unit's file name.
pub(crate) const TEMPLATE: &str = "schedctl@.service";
/// Where we put the unit when no package did.
pub(crate) const ADMIN_UNITS: &str = "/etc/systemd/system";
/// Where packages put it.
pub(crate) const PACKAGED_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
/// What is enabled has a link here.
pub(crate) const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// The unit for a program that lies there.
pub(crate) fn unit(program: &str) -> String {
    UNIT.replace(USUAL_PROGRAM, program)
}

/// The instance for a word, with systemd's own escapes: `/` is `-`, and what a unit's name may not
/// have is `\x` and its number.
pub(crate) fn instance(word: &str) -> String {
    let escaped = word.bytes().enumerate().map(|(at, byte)| match byte {
        b'/' => "-".to_owned(),
        b'.' if at == 0 => escape(byte),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => escape(other),
    });
    format!("schedctl@{}.service", escaped.collect::<String>())
}

/// Whether a file name is one of our instances.
pub(crate) fn is_instance(name: &str) -> bool {
    name.starts_with("schedctl@") && name.ends_with(".service") && name != TEMPLATE
}

fn escape(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `systemd-escape` says them.
    #[test]
    fn instances_are_escaped_as_systemd_does() {
        for (word, name) in [
            ("scx_lavd", "schedctl@scx_lavd.service"),
            (
                "ghcr.io/schedkit/scx_lavd:1.0",
                "schedctl@ghcr.io-schedkit-scx_lavd:1.0.service",
            ),
            ("a-b/c@d", r"schedctl@a\x2db-c\x40d.service"),
            (".x", r"schedctl@\x2ex.service"),
        ] {
            assert_eq!(instance(word), name);
            assert!(is_instance(name));
        }
        assert!(!is_instance(TEMPLATE));
    }

    #[test]
    fn the_unit_starts_this_program() {
        let unit = unit("/opt/schedctl");
        assert!(
            unit.contains("\nExecStart=/opt/schedctl run --attach %I\n"),
            "{unit}"
        );
        assert!(!unit.contains(USUAL_PROGRAM));
    }
}
