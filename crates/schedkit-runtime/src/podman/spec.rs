//! The specification of a container for libpod (its SpecGenerator). Pure.

use serde_json::{Value, json};

use super::image::StoredImage;
use crate::launch::Launch;
use crate::mounts::{Access, Mount};

const MAX_LOG_BYTES: u64 = 10 << 20;

/// - Privileged and in the host's PID and cgroup namespaces, because schedulers load BPF programs and
///   compare process ids and cgroup paths with the kernel's.
/// - Without a network: a scheduler needs none, and it also runs on a machine without Podman's
///   network packages.
/// - As root whatever user the image has, and without the host's proxy variables.
/// - The whole command is the entrypoint, so that Podman does not add the image's command.
/// - By the image's id in the store, so that a tag that moves cannot change the image.
/// - With all our labels, and an empty one for each other that the image has in our place: Podman adds
///   the image's labels, and what was not written would be the image's.
pub(super) fn spec(
    name: &str,
    launch: &Launch,
    image: &StoredImage,
    command: &[String],
    mounts: &[Mount],
) -> Value {
    let mut labels = launch.labels(name, &image.id);
    for key in image.reserved_labels() {
        labels.entry(key.to_owned()).or_default();
    }
    json!({
        "name": name,
        "image": image.id,
        "raw_image_name": launch.image().image().to_string(),
        "entrypoint": command,
        "labels": labels,
        "privileged": true,
        "pidns": {"nsmode": "host"},
        "netns": {"nsmode": "none"},
        "cgroupns": {"nsmode": "host"},
        "user": "0:0",
        "restart_policy": "no",
        "systemd": "false",
        "httpproxy": false,
        // Its logs can be read through the API on every system, with or without a journal.
        // When they have this size, the container's monitor begins again with an empty file.
        "log_configuration": {"driver": "k8s-file", "size": MAX_LOG_BYTES},
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

/// `schedkit-SCHEDULER-RANDOM`, in characters that Podman allows.
pub(super) fn name(scheduler: &str, random: u32) -> String {
    let replace = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' => character,
        _ => '-',
    };
    let scheduler = scheduler.chars().take(64).map(replace).collect::<String>();
    format!("schedkit-{scheduler}-{random:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_of_the_image_stays_in_our_place() {
        let image = super::super::image::parse(
            r#"{"Id":"feed","Labels":{"io.schedkit.signer":"me","io.schedkit.later":"x","a":"b"}}"#,
        );
        let launch = crate::record::tests::launch("scx_lab", Vec::new(), "asked");
        let spec = spec("schedkit-scx_lab-1", &launch, &image.unwrap(), &[], &[]);
        let labels = &spec["labels"];
        assert_eq!(labels["io.schedkit.signer"], "");
        assert_eq!(labels["io.schedkit.later"], "");
        assert_eq!(labels["io.schedkit.waiver"], "asked");
        assert_eq!(labels["io.schedkit.container"], "schedkit-scx_lab-1");
        assert_eq!(labels["io.schedkit.image-hash"], "feed");
        assert_eq!(labels.get("a"), None);
    }

    #[test]
    fn a_name_has_only_allowed_characters() {
        assert_eq!(name("scx_lavd", 0xab), "schedkit-scx_lavd-000000ab");
        assert_eq!(name("a/b c\nü", 1), "schedkit-a-b-c---00000001");
    }
}
