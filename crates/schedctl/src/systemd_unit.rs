//! The systemd unit that starts a scheduler at boot, and the names of its instances. Pure;
//! `cmd/enable.rs` installs it.

/// As distributions install it.
const UNIT: &str = include_str!("../systemd/schedctl@.service");
const DEFAULT_PROGRAM: &str = "/usr/bin/schedctl";

pub(crate) const TEMPLATE: &str = "schedctl@.service";
/// Where `enable` installs the unit unless a package has it.
pub(crate) const ADMIN_UNITS: &str = "/etc/systemd/system";
pub(crate) const PACKAGED_UNITS: [&str; 2] = ["/usr/lib/systemd/system", "/lib/systemd/system"];
/// Has a link for each enabled unit.
pub(crate) const WANTS_DIR: &str = "/etc/systemd/system/multi-user.target.wants";

pub(crate) fn unit(program: &str) -> String {
    UNIT.replace(DEFAULT_PROGRAM, program)
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
