//! What an image says about itself: the only place that reads it.

use std::collections::BTreeSet;

use schedkit_core::ImageRef;
use schedkit_host::preflight::MinKernel;
use schedkit_image::info::{Info, InfoError, info};
use schedkit_image::registry::{Platform, Registry};
use sked_plan::image_facts::ImageFacts;

/// The architectures of an image with more platforms, or with longer names, are taken for unknown: what
/// is known of an image takes little memory, whoever made it.
const MAX_PLATFORMS: usize = 32;
const MAX_NAME: usize = 16;

/// Of an image for several platforms, the one for the manager's platform counts for all.
///
/// # Errors
/// When a request fails or the content is no image.
pub(crate) async fn read_facts(
    registry: &impl Registry,
    image: &ImageRef,
) -> Result<ImageFacts, InfoError> {
    let info = info(registry, image, &Platform::this_machine()).await?;
    let label = info.labels.kernel_min_version.as_deref();
    let min_kernel = match MinKernel::parse(label.unwrap_or_default()) {
        MinKernel::Release(release) => Some(release),
        MinKernel::Unspecified => None,
        MinKernel::Malformed(text) => {
            tracing::info!(%image, "the minimum kernel {text:?} is no kernel release");
            None
        }
    };
    Ok(ImageFacts {
        min_kernel,
        architectures: architectures(&info),
        has_entrypoint: info.has_entrypoint,
    })
}

fn architectures(info: &Info) -> Vec<String> {
    let platforms = info.platforms.iter();
    let linux = platforms.filter_map(|platform| platform.strip_prefix("linux/"));
    let names: BTreeSet<&str> = linux.filter_map(|rest| rest.split('/').next()).collect();
    let are_short = names.iter().all(|name| name.len() <= MAX_NAME);
    let is_usual = are_short && info.platforms.len() <= MAX_PLATFORMS;
    let names = names.into_iter().filter(|_| is_usual);
    names.map(str::to_owned).collect()
}
