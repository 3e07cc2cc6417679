//! `schedctl doctor`: whether this machine can run schedulers.

use schedkit_core::{Finding, ImageRef};
use schedkit_host::preflight::{ImageRequirements, MinKernel, Requirements, Socket, examine};
use schedkit_host::{Architecture, HostRoot, HostSnapshot};
use schedkit_image::info::{self, Info};
use schedkit_image::registry::{Client, Platform};
use schedkit_runtime::driver::Runtime;

use super::find::find;
use crate::exit::Exit;
use crate::output::{Printer, doctor::Examination, waiting};
use crate::request::Settings;
use crate::runtimes::{Place, probe};

pub(super) async fn doctor(
    word: Option<&str>,
    root: &HostRoot,
    settings: &Settings,
    printer: &mut Printer,
) -> anyhow::Result<Exit> {
    let image = match word {
        Some(word) => {
            let found = find(word, settings, printer).await?;
            let registry = Client::new(settings.registry.clone());
            Some(needs(found.image(), &registry).await?)
        }
        None => None,
    };
    let examination = Examination::of(findings(root, settings, image).await);
    printer.print(&examination)?;
    Ok(examination.exit())
}

/// What is found on this machine; for an image, with what it needs.
pub(super) async fn findings(
    root: &HostRoot,
    settings: &Settings,
    image: Option<ImageRequirements>,
) -> Vec<Finding> {
    let runtimes = &settings.runtimes;
    let (podman, containerd) = tokio::join!(
        socket(runtimes.place(Runtime::Podman)),
        socket(runtimes.place(Runtime::Containerd)),
    );
    let requirements = Requirements {
        podman,
        containerd,
        image,
    };
    examine(&HostSnapshot::read(root), &requirements)
}

async fn socket(place: &Place) -> Socket {
    Socket {
        path: place.socket.display().to_string(),
        reachability: probe(place).await,
    }
}

/// What an image says that it needs.
pub(super) async fn needs(
    image: &ImageRef,
    registry: &Client,
) -> anyhow::Result<ImageRequirements> {
    let machine = Platform::this_machine();
    let asking = info::info(registry, image, &machine);
    let note = format!("asking {}", image.repository().host());
    Ok(needs_of(&waiting::noted(&note, asking).await?))
}

/// What an index lists counts before what the one image of it says that was looked at.
fn needs_of(info: &Info) -> ImageRequirements {
    let label = info.labels.kernel_min_version.as_deref();
    let listed = info.platforms.iter().filter_map(|platform| {
        let (_, architecture) = platform.split_once('/')?;
        architecture.split('/').next()
    });
    let mut architectures: Vec<Architecture> = listed.map(Architecture::parse).collect();
    if architectures.is_empty() {
        let own = info.architecture.as_deref();
        architectures.extend(own.map(Architecture::parse));
    }
    ImageRequirements {
        min_kernel: label.map_or(MinKernel::Unspecified, MinKernel::parse),
        architectures,
    }
}

#[cfg(test)]
mod tests {
    use schedkit_image::info::Labels;

    use super::*;

    #[test]
    fn an_image_needs_what_it_lists() {
        let mut info = Info {
            digest: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
            platforms: vec!["linux/amd64".to_owned(), "linux/arm64/v8".to_owned()],
            architecture: Some("amd64".to_owned()),
            os: Some("linux".to_owned()),
            created: None,
            labels: Labels {
                kernel_min_version: Some("6.14".to_owned()),
                ..Labels::default()
            },
        };
        let needs = needs_of(&info);
        assert_eq!(needs.min_kernel, MinKernel::parse("6.14"));
        assert_eq!(
            needs.architectures,
            [Architecture::Amd64, Architecture::Arm64]
        );
        info.platforms.clear();
        assert_eq!(needs_of(&info).architectures, [Architecture::Amd64]);
    }
}
