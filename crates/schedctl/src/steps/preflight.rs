//! The checks of `schedctl doctor`, which `run` and `switch` make before a start.

use schedkit_core::{Finding, ImageRef};
use schedkit_host::preflight::{ImageRequirements, MinKernel, Requirements, Socket, examine};
use schedkit_host::{Architecture, HostRoot, HostSnapshot};
use schedkit_image::info::{self, Info};
use schedkit_image::registry::{Client, Platform};
use schedkit_runtime::ImageInStore;
use schedkit_runtime::driver::Runtime;

use crate::inventory::probe;
use crate::output::progress;
use crate::runtimes::{Endpoint, Runtimes};
use crate::steps::verify_image::Needs;

/// The machine fails a check without which no scheduler, or not this image, can run.
#[derive(Debug, thiserror::Error)]
#[error("this machine cannot run it: {}", .0.join("; "))]
pub(crate) struct FailedChecks(Vec<String>);

/// Checks the machine, and with an image's requirements also whether the image can run on it.
pub(crate) async fn check(
    root: &HostRoot,
    runtimes: &Runtimes,
    image: Option<ImageRequirements>,
) -> Vec<Finding> {
    let (podman, containerd) = tokio::join!(
        socket(runtimes.endpoint(Runtime::Podman)),
        socket(runtimes.endpoint(Runtime::Containerd)),
    );
    let requirements = Requirements {
        podman,
        containerd,
        image,
    };
    examine(&HostSnapshot::read(root), &requirements)
}

/// Fails if a check fails that would prevent a scheduler, or this image, from running.
pub(crate) async fn require(
    needs: Needs<'_>,
    root: &HostRoot,
    runtimes: &Runtimes,
    registry: &Client,
) -> anyhow::Result<()> {
    let needs = match needs {
        Needs::OfImage(image) => image_needs(&image.clone().into(), registry).await?,
        Needs::OfStoredImage(image) => stored_needs(image),
    };
    let findings = check(root, runtimes, Some(needs)).await;
    let blocking = findings.iter().filter(|finding| finding.is_blocking());
    let failed: Vec<String> = blocking.map(text).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(FailedChecks(failed).into()),
    }
}

pub(crate) async fn image_needs(
    image: &ImageRef,
    registry: &Client,
) -> anyhow::Result<ImageRequirements> {
    let machine = Platform::this_machine();
    let reading = info::info(registry, image, &machine);
    let note = format!("asking {}", image.repository().host());
    Ok(needs(&progress::with_spinner(&note, reading).await?))
}

/// The runtime has checked the architecture when it stored the image.
fn stored_needs(image: &ImageInStore) -> ImageRequirements {
    let label = info::kernel_min_version(&image.labels);
    ImageRequirements {
        min_kernel: min_kernel(label.as_deref()),
        architectures: Vec::new(),
    }
}

fn min_kernel(label: Option<&str>) -> MinKernel {
    label.map_or(MinKernel::Unspecified, MinKernel::parse)
}

async fn socket(endpoint: &Endpoint) -> Socket {
    Socket {
        path: endpoint.socket.display().to_string(),
        reachability: probe(endpoint).await,
    }
}

/// The platforms of an index, or else the architecture of the single image.
fn needs(info: &Info) -> ImageRequirements {
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
        min_kernel: min_kernel(label),
        architectures,
    }
}

fn text(finding: &Finding) -> String {
    let remedy = finding.remediation.as_ref();
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" ({remedy})"));
    format!("{}: {}{remedy}", finding.id, finding.detail)
}

#[cfg(test)]
mod tests {
    use schedkit_image::info::Labels;

    use super::*;

    #[test]
    fn an_index_lists_the_architectures() {
        let mut info = Info {
            digest: format!("sha256:{}", "0".repeat(64)).parse().unwrap(),
            platforms: vec!["linux/amd64".to_owned(), "linux/arm64/v8".to_owned()],
            architecture: Some("amd64".to_owned()),
            os: Some("linux".to_owned()),
            created: None,
            has_entrypoint: true,
            labels: Labels {
                kernel_min_version: Some("6.14".to_owned()),
                ..Labels::default()
            },
        };
        let found = needs(&info);
        assert_eq!(found.min_kernel, MinKernel::parse("6.14"));
        assert_eq!(
            found.architectures,
            [Architecture::Amd64, Architecture::Arm64]
        );
        info.platforms.clear();
        assert_eq!(needs(&info).architectures, [Architecture::Amd64]);
    }
}
