//! Parses one uevent: a message of the kernel about an object that was added, removed or changed.
//!
//! ```text
//! add@/kernel/sched_ext/root␀ACTION=add␀DEVPATH=…␀SUBSYSTEM=sched_ext␀SCXOPS=lab␀SEQNUM=7␀
//! ```
//!
//! [`crate::uevent_stream`] checks the sender. An event is only a hint to read sysfs.

use schedkit_core::{OpsName, sanitize};

/// More than the kernel puts into one message.
const MAX_FIELDS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uevent {
    pub action: Action,
    /// Below `/sys`; shortened and printable.
    pub path: String,
    subsystem: Option<String>,
    ops: Option<OpsName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Add,
    Remove,
    Change,
    /// Shortened and printable.
    Other(String),
}

impl Uevent {
    /// `None` when the message has not the kernel's form.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let mut fields = message.split(|byte| *byte == 0);
        let header = std::str::from_utf8(fields.next()?).ok()?;
        let (action, path) = header.split_once('@')?;
        if action.is_empty() || !path.starts_with('/') {
            return None;
        }
        let mut event = Self {
            action: Action::parse(action),
            path: sanitize::brief(path),
            subsystem: None,
            ops: None,
        };
        for field in fields.take(MAX_FIELDS) {
            event.set_field(&String::from_utf8_lossy(field));
        }
        Some(event)
    }

    pub fn is_about_sched_ext(&self) -> bool {
        self.subsystem.as_deref() == Some("sched_ext") || self.path.starts_with("/kernel/sched_ext")
    }

    /// The name of a scheduler that was attached. The name in an event about one that was detached is
    /// not valid and not kept.
    pub fn ops(&self) -> Option<&OpsName> {
        self.ops.as_ref()
    }

    fn set_field(&mut self, field: &str) {
        match field.split_once('=') {
            Some(("SUBSYSTEM", value)) => self.subsystem = Some(sanitize::brief(value)),
            Some(("SCXOPS", value)) if self.action == Action::Add => self.ops = value.parse().ok(),
            _ => {}
        }
    }
}

impl Action {
    fn parse(text: &str) -> Self {
        match text {
            "add" => Self::Add,
            "remove" => Self::Remove,
            "change" => Self::Change,
            other => Self::Other(sanitize::brief(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADD: &[u8] = b"add@/kernel/sched_ext/root\0ACTION=add\0DEVPATH=/kernel/sched_ext/root\0\
                         SUBSYSTEM=sched_ext\0SCXOPS=lab_1.0.0\0SEQNUM=1234\0";
    const REMOVE: &[u8] = b"remove@/kernel/sched_ext/root\0ACTION=remove\0\
                            SUBSYSTEM=sched_ext\0SCXOPS=leftover\0SEQNUM=1235\0";

    #[test]
    fn events_about_schedulers_are_parsed() {
        let add = Uevent::parse(ADD).unwrap();
        assert_eq!(add.action, Action::Add);
        assert_eq!(add.path, "/kernel/sched_ext/root");
        assert!(add.is_about_sched_ext());
        assert_eq!(add.ops().unwrap().as_str(), "lab_1.0.0");
        let remove = Uevent::parse(REMOVE).unwrap();
        assert_eq!(remove.action, Action::Remove);
        assert!(remove.is_about_sched_ext());
        assert_eq!(
            remove.ops(),
            None,
            "the name in a remove event is not valid"
        );
    }

    #[test]
    fn other_events_are_not_about_sched_ext() {
        let event = Uevent::parse(b"offline@/devices/system/cpu/cpu1\0SUBSYSTEM=cpu\0").unwrap();
        assert_eq!(event.action, Action::Other("offline".to_owned()));
        assert!(!event.is_about_sched_ext());
        let event = Uevent::parse(b"add@/kernel/sched_ext/root\0SCXOPS=(efault)\0").unwrap();
        assert!(event.is_about_sched_ext());
        assert_eq!(event.ops(), None);
    }

    #[test]
    fn other_messages_are_not_events() {
        for message in [
            &b""[..],
            b"libudev\0\xfe\xed\xca\xfe",
            b"@/path\0",
            b"add\0/path",
            b"add@path\0",
            b"\xff@/path\0",
        ] {
            assert_eq!(Uevent::parse(message), None, "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            let _ = Uevent::parse(&bytes);
            let mut event = b"add@/x\0".to_vec();
            event.extend(bytes);
            prop_assert!(Uevent::parse(&event).is_some());
        }

        #[test]
        fn the_name_in_an_add_event_is_parsed(name in "[A-Za-z0-9_.]{1,127}") {
            let message = format!("add@/kernel/sched_ext/root\0SCXOPS={name}\0");
            let event = Uevent::parse(message.as_bytes()).unwrap();
            prop_assert_eq!(event.ops().map(OpsName::as_str), Some(name.as_str()));
        }
    }
}
