//! How often the kernel killed a process because memory was short, from `/proc/vmstat`.

use crate::fact::Fact;
use crate::root_folder::HostRoot;
use crate::small_file;

const FILE: &str = "/proc/vmstat";
const LIMIT: usize = 64 * 1024;
/// Counts those of the whole machine and those of a cgroup's limit.
const OOM_KILLS: &str = "oom_kill ";

/// Since boot.
pub fn oom_kills(root: &HostRoot) -> Fact<u64> {
    small_file::text(&root.path(FILE), LIMIT).parsed(parse)
}

fn parse(text: &str) -> Option<u64> {
    let count = text.lines().find_map(|line| line.strip_prefix(OOM_KILLS))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_this_kernel_and_of_others_is_parsed() {
        assert_eq!(parse("pgfault 9\noom_kill 3\noom_kill_x 5\n"), Some(3));
        assert_eq!(parse("pgfault 9\n"), None);
        assert_eq!(parse("oom_kill -1\n"), None);
        assert!(oom_kills(&HostRoot::system()).known().is_some());
    }
}
