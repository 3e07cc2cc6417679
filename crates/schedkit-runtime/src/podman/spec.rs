//! A container as libpod wants it described (its SpecGenerator). Pure.

use serde_json::{Value, json};

use crate::launch::Launch;
use crate::mounts::{Access, Mount};

/// The container of a launch.
///
/// - Privileged and in the host's process and cgroup namespaces, because schedulers load BPF
///   programs and compare numbers and paths with the kernel's.
/// - Without a network: a scheduler has nothing to say to one, whatever it was talked into, and a
///   machine without Podman's network packages runs it as well.
/// - As root whatever the image says, and without the host's proxy variables.
/// - The whole command is the entrypoint, so that nothing of the image is added to it.
/// - By the image's id in the store: no name that somebody moves can come in between.
pub(super) fn spec(
    name: &str,
    launch: &Launch,
    image_id: &str,
    command: &[String],
    mounts: &[Mount],
) -> Value {
    json!({
        "name": name,
        "image": image_id,
        "raw_image_name": launch.image().image().to_string(),
        "entrypoint": command,
        "labels": launch.labels(),
        "privileged": true,
        "pidns": {"nsmode": "host"},
        "netns": {"nsmode": "none"},
        "cgroupns": {"nsmode": "host"},
        "user": "0:0",
        "restart_policy": "no",
        "systemd": "false",
        "httpproxy": false,
        // The one that gives logs by the API wherever Podman runs, journal or not.
        "log_configuration": {"driver": "k8s-file"},
        "mounts": mounts.iter().map(mount).collect::<Vec<_>>(),
    })
}

fn mount(mount: &Mount) -> Value {
    let access = match mount.access {
        Access::ReadOnly => "ro",
        Access::ReadWrite => "rw",
    };
    json!({
        "type": "bind",
        "source": mount.path,
        "destination": mount.path,
        "options": ["rbind", access],
    })
}

/// `schedkit-SCHEDULER-RANDOM`, in the letters that Podman allows.
pub(super) fn name(scheduler: &str, random: u32) -> String {
    let fits = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' => letter,
        _ => '-',
    };
    let scheduler = scheduler.chars().take(64).map(fits).collect::<String>();
    format!("schedkit-{scheduler}-{random:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_only_letters_that_podman_takes() {
        assert_eq!(name("scx_lavd", 0xab), "schedkit-scx_lavd-000000ab");
        assert_eq!(name("a/b c\nü", 1), "schedkit-a-b-c---00000001");
    }
}
