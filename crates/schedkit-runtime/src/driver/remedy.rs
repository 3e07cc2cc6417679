//! What a person can do about a runtime that did not do it: one place for both runtimes.

use std::io::ErrorKind;

use super::{DriverError, Runtime};

impl DriverError {
    /// What helps, as the second half of a sentence; nothing where we know of nothing.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::Unreachable {
                runtime, source, ..
            } => match source.kind() {
                ErrorKind::PermissionDenied => "run it as root or with sudo".to_owned(),
                _ => format!("start it with `{}`", start(*runtime)),
            },
            Self::Stranger { runtime, .. } => {
                format!("{runtime} itself listens at {}", socket(*runtime))
            }
            Self::Refused { runtime, said, .. } => return refused(*runtime, said),
            Self::TooSlow { runtime, .. } | Self::Cut { runtime, .. } => {
                format!(
                    "look into its log with `journalctl -u {}`, then try again",
                    unit(*runtime)
                )
            }
            Self::NoSpace { runtime, .. } => room(*runtime).to_owned(),
            Self::NoContainer { .. } => "`schedctl ps` lists those that there are".to_owned(),
            Self::NoEntrypoint { .. } => {
                "build it again with the scheduler as its ENTRYPOINT".to_owned()
            }
            Self::Architecture { machine, .. } => format!("use an image that has {machine}"),
            Self::Folder { .. } => "run it as root or with sudo".to_owned(),
            Self::Log { .. } => "look at the disk and the rights of that folder".to_owned(),
            Self::Broken { .. } => "build and push the image anew".to_owned(),
            // It says in its own words what to do.
            Self::Registry { .. } => return None,
        };
        Some(text)
    }
}

/// Podman pulls by itself: what it says about a registry has its remedy in its configuration or
/// in ours.
fn refused(runtime: Runtime, said: &str) -> Option<String> {
    let has = |part: &str| said.contains(part);
    if runtime != Runtime::Podman {
        return None;
    }
    let text = if has("HTTP response to HTTPS client") {
        "if that registry has no TLS, say so with `security = \"plain-http\"` in schedctl's \
         configuration"
    } else if has("x509: ") {
        "Podman trusts the certificate authorities in /etc/containers/certs.d/HOST/ca.crt"
    } else if has("unauthorized") || has("authentication required") || has("access denied") {
        "log in with `podman login`"
    } else {
        return None;
    };
    Some(text.to_owned())
}

fn start(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "systemctl enable --now podman.socket",
        Runtime::Containerd => "systemctl start containerd",
    }
}

fn socket(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "/run/podman/podman.sock",
        Runtime::Containerd => "/run/containerd/containerd.sock",
    }
}

fn unit(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "podman",
        Runtime::Containerd => "containerd",
    }
}

fn room(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Podman => "make room: `podman system prune` removes what is not used",
        Runtime::Containerd => {
            "make room: `ctr --namespace schedkit images ls` shows what is there"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn unreachable(runtime: Runtime, kind: ErrorKind) -> DriverError {
        DriverError::Unreachable {
            runtime,
            socket: "/s".into(),
            source: io::Error::from(kind),
        }
    }

    #[test]
    fn who_cannot_be_reached_is_started_or_asked_as_root() {
        for (runtime, kind, remedy) in [
            (
                Runtime::Podman,
                ErrorKind::NotFound,
                "start it with `systemctl enable --now podman.socket`",
            ),
            (
                Runtime::Containerd,
                ErrorKind::ConnectionRefused,
                "start it with `systemctl start containerd`",
            ),
            (
                Runtime::Podman,
                ErrorKind::PermissionDenied,
                "run it as root or with sudo",
            ),
        ] {
            assert_eq!(unreachable(runtime, kind).remedy().unwrap(), remedy);
        }
    }

    #[test]
    fn what_a_registry_told_podman_is_understood() {
        for (said, part) in [
            ("server gave HTTP response to HTTPS client", "plain-http"),
            ("x509: certificate signed by unknown authority", "certs.d"),
            ("unauthorized: authentication required", "podman login"),
        ] {
            let error = DriverError::Refused {
                runtime: Runtime::Podman,
                attempt: "pull x".to_owned(),
                said: said.to_owned(),
            };
            assert!(error.remedy().unwrap().contains(part), "{said}");
        }
    }
}
