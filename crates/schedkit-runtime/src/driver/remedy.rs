//! What a person can do about an error of a driver.

use std::io::ErrorKind;
use std::path::Path;

use super::error::{DriverError, Runtime};

impl DriverError {
    /// A clause for the end of a message; `None` where there is no advice.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::Unreachable {
                runtime, source, ..
            } => match source.kind() {
                ErrorKind::PermissionDenied => "run it as root or with sudo".to_owned(),
                _ => format!("start it with `{}`", start(*runtime)),
            },
            Self::WrongService { runtime, .. } => {
                format!("{runtime} itself listens at {}", socket(*runtime))
            }
            Self::Refused {
                runtime, message, ..
            } => return refused(*runtime, message),
            Self::Timeout { runtime, .. } | Self::Disconnected { runtime, .. } => {
                format!(
                    "read its log with `journalctl -u {}`, then try again",
                    unit(*runtime)
                )
            }
            Self::NoSpace { runtime, .. } => free_space(*runtime).to_owned(),
            Self::NoContainer { .. } => "`schedctl ps` lists the existing ones".to_owned(),
            Self::NoEntrypoint { .. } => {
                "build it again with the scheduler as its ENTRYPOINT".to_owned()
            }
            Self::Architecture { machine, .. } => format!("use an image that has {machine}"),
            Self::Folder { .. } => "run it as root or with sudo".to_owned(),
            Self::Log { path, source } => log(path, source.kind()),
            Self::InvalidImage { .. } => "build and push the image again".to_owned(),
            // The source has its own remedy.
            Self::Registry { .. } => return None,
        };
        Some(text)
    }
}

fn log(path: &Path, kind: ErrorKind) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("make room on the disk of {folder}")
        }
        _ => format!("check the owner and the permissions of {folder}"),
    }
}

/// Podman pulls by itself: its errors about a registry are fixed in its configuration or in ours.
fn refused(runtime: Runtime, message: &str) -> Option<String> {
    let has = |part: &str| message.contains(part);
    if runtime != Runtime::Podman {
        return None;
    }
    let text = if has("HTTP response to HTTPS client") {
        "if that registry has no TLS, set `security = \"plain-http\"` in schedctl's \
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

fn free_space(runtime: Runtime) -> &'static str {
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
    fn an_unreachable_runtime_has_a_remedy() {
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
    fn a_full_disk_is_named() {
        let error = DriverError::Log {
            path: "/var/log/schedctl/x.log".into(),
            source: io::Error::from(ErrorKind::StorageFull),
        };
        let remedy = "make room on the disk of /var/log/schedctl";
        assert_eq!(error.remedy().unwrap(), remedy);
    }

    #[test]
    fn registry_errors_of_podman_have_a_remedy() {
        for (message, part) in [
            ("server gave HTTP response to HTTPS client", "plain-http"),
            ("x509: certificate signed by unknown authority", "certs.d"),
            ("unauthorized: authentication required", "podman login"),
        ] {
            let error = DriverError::Refused {
                runtime: Runtime::Podman,
                attempt: "pull x".to_owned(),
                message: message.to_owned(),
            };
            assert!(error.remedy().unwrap().contains(part), "{message}");
        }
    }
}
