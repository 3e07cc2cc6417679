//! The systemd unit that starts a scheduler at boot, and the names of its instances. Pure;
//! `cmd/enable.rs` installs it.

use schedkit_image::hash::sha256;

/// As distributions install it.
const UNIT: &str = include_str!("../systemd/schedctl@.service");
const DEFAULT_PROGRAM: &str = "/usr/bin/schedctl";
const MARK: &str = "# Written by `schedctl enable`, which leaves an edited copy alone: ";
/// The text before there was a mark.
const UNMARKED: &str = "sha256:5eb8321bce9319c74a00d63d0a0e9ed4725617eb6617772ac66c9f8f38bcea98";

pub(crate) const TEMPLATE: &str = "schedctl@.service";
/// Where `enable` installs the unit unless a package has it.
pub(crate) const ADMIN_UNITS: &str = "/etc/systemd/system";
pub(crate) const PACKAGED_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
/// Has a link for each enabled unit.
pub(crate) const WANTS_DIR: &str = "/etc/systemd/system/multi-user.target.wants";

/// With a digest of itself in the first line, so that a later schedctl knows its own text.
pub(crate) fn unit(program: &str) -> String {
    let text = UNIT.replace(DEFAULT_PROGRAM, program);
    format!("{MARK}{}\n{text}", sha256(text.as_bytes()))
}

/// Whether somebody changed a unit that `enable` wrote, or wrote it.
pub(crate) fn is_edited(installed: &str) -> bool {
    let marked = installed.strip_prefix(MARK);
    match marked.and_then(|rest| rest.split_once('\n')) {
        Some((digest, text)) => sha256(text.as_bytes()).to_string() != digest,
        None => sha256(with_default_program(installed).as_bytes()).to_string() != UNMARKED,
    }
}

/// The first units had the path of the program as their only difference.
fn with_default_program(installed: &str) -> String {
    let line = |line: &str| {
        let command = line.strip_prefix("ExecStart=");
        match command.and_then(|command| command.split_once(' ')) {
            Some((_, arguments)) => format!("ExecStart={DEFAULT_PROGRAM} {arguments}"),
            None => line.to_owned(),
        }
    };
    installed.split_inclusive('\n').map(line).collect()
}

/// The instance for a name or reference, escaped as systemd does: `/` becomes `-`, and bytes that
/// are not allowed become `\x` with their number.
pub(crate) fn instance(image: &str) -> String {
    let escaped = image.bytes().enumerate().map(|(at, byte)| match byte {
        b'/' => "-".to_owned(),
        b'.' if at == 0 => escape(byte),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => escape(other),
    });
    format!("schedctl@{}.service", escaped.collect::<String>())
}

pub(crate) fn is_instance(name: &str) -> bool {
    name.starts_with("schedctl@") && name.ends_with(".service") && name != TEMPLATE
}

fn escape(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    /// As `systemd-escape` prints them.
    #[test]
    fn instances_are_escaped_as_systemd_does() {
        for (image, name) in [
            ("scx_lavd", "schedctl@scx_lavd.service"),
            (
                "ghcr.io/schedkit/scx_lavd:1.0",
                "schedctl@ghcr.io-schedkit-scx_lavd:1.0.service",
            ),
            ("a-b/c@d", r"schedctl@a\x2db-c\x40d.service"),
            (".x", r"schedctl@\x2ex.service"),
        ] {
            assert_eq!(instance(image), name);
            assert!(is_instance(name));
        }
        assert!(!is_instance(TEMPLATE));
    }

    #[test]
    fn an_edited_unit_is_recognized() {
        let former = include_str!("../tests/fixtures/schedctl@.service");
        let edited = |text: &str| text.replace("RestartSec=30", "RestartSec=5");
        for program in [DEFAULT_PROGRAM, "/opt/a/schedctl"] {
            for text in [unit(program), former.replace(DEFAULT_PROGRAM, program)] {
                assert!(!is_edited(&text), "{text}");
                assert!(is_edited(&edited(&text)), "{text}");
                assert!(is_edited(&format!("{text}Nice=1\n")), "{text}");
            }
        }
        assert!(is_edited(""));
        assert!(is_edited(UNIT), "a package's");
    }

    #[test]
    fn the_unit_is_started_by_the_kernel_and_restarted_unless_refused_or_busy() {
        let codes = [Exit::Refused, Exit::Busy].map(|exit| exit.code().to_string());
        let prevented = format!("RestartPreventExitStatus={}", codes.join(" "));
        let lines = ["Type=notify", "Restart=on-failure", &prevented];
        for line in lines {
            assert!(
                UNIT.lines().any(|found| found == line),
                "no {line} in {UNIT}"
            );
        }
    }

    /// What is pinned needs no registry, and a network that never comes would hold up the boot.
    #[test]
    fn the_unit_does_not_wait_for_a_network() {
        let settings = UNIT.lines().filter(|line| !line.starts_with('#'));
        let network: Vec<&str> = settings.filter(|line| line.contains("network")).collect();
        assert!(network.is_empty(), "{network:?}");
    }

    #[test]
    fn the_unit_starts_this_program() {
        let unit = unit("/opt/schedctl");
        assert!(
            unit.contains("\nExecStart=/opt/schedctl run --attach --enabled %I\n"),
            "{unit}"
        );
        assert!(!unit.contains(DEFAULT_PROGRAM));
    }
}
