//! Where tracefs and debugfs are mounted, from `/proc/self/mounts`.
//!
//! Some schedulers look for tracepoints in tracefs, or for the energy model in debugfs, and panic
//! without them (scx_lavd). Only the usual places count: a container of schedctl has these.

use serde::Serialize;

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/self/mounts";
/// A node of Kubernetes has thousands of mounts.
const LIMIT: usize = 16 * 1024 * 1024;
/// The kernel mounts tracefs at the second place when it is used, if debugfs is mounted.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const DEBUGFS: [&str; 1] = ["/sys/kernel/debug"];

/// The first place where each is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceMounts {
    pub tracefs: Option<&'static str>,
    pub debugfs: Option<&'static str>,
}

impl TraceMounts {
    pub fn read(root: &HostRoot) -> Fact<Self> {
        small_file::text(&root.path(FILE), LIMIT).map(|text| Self::parse(&text))
    }

    pub fn parse(text: &str) -> Self {
        let find = |kind: &str, places: &[&'static str]| {
            let is_mounted = |place: &&&str| {
                let mut mounts = text.lines().map(|line| line.split(' '));
                mounts
                    .any(|mut fields| fields.nth(1) == Some(**place) && fields.next() == Some(kind))
            };
            places.iter().find(is_mounted).copied()
        };
        Self {
            tracefs: find("tracefs", &TRACEFS),
            debugfs: find("debugfs", &DEBUGFS),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_usual_places_and_the_kinds_count() {
        let (tracing, debug) = ("/sys/kernel/tracing", "/sys/kernel/debug");
        let below = "/sys/kernel/debug/tracing";
        for (text, tracefs, debugfs) in [
            (
                "tracefs /sys/kernel/tracing tracefs rw 0 0\n",
                Some(tracing),
                None,
            ),
            ("none /sys/kernel/debug debugfs rw 0 0\n", None, Some(debug)),
            (
                "debugfs /sys/kernel/debug debugfs rw 0 0\n\
                 tracefs /sys/kernel/debug/tracing tracefs rw 0 0\n",
                Some(below),
                Some(debug),
            ),
            ("tracefs /mnt/tracing tracefs rw 0 0\n", None, None),
            ("tracefs /sys/kernel/tracing tmpfs rw 0 0\n", None, None),
            ("sysfs /sys sysfs rw 0 0\n\n x\n", None, None),
        ] {
            assert_eq!(
                TraceMounts::parse(text),
                TraceMounts { tracefs, debugfs },
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = TraceMounts::parse(&text);
        }
    }
}
