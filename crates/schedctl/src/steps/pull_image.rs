//! Pulls an image into the runtime's store and shows the progress.

use schedkit_image::signature::Trusted;
use schedkit_runtime::{Driver, DriverError, Pulled};

use crate::output::progress::Spinner;
use crate::pull_record::PullRecord;

pub(crate) async fn pull_image(
    driver: &impl Driver,
    image: &Trusted,
    record: &PullRecord,
) -> Result<Pulled, DriverError> {
    tracing::info!("pull: {}, unless it is stored already", image.image());
    let spinner = Spinner::new();
    let pulled = driver
        .pull(image, &mut |progress| spinner.show_pull(&progress))
        .await?;
    if pulled == Pulled::Fetched {
        record.add(image.image().digest());
    }
    Ok(pulled)
}
