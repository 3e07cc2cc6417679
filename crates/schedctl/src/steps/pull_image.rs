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
    record.want(image.image().digest()).await;
    let spinner = Spinner::new();
    let pulled = driver
        .pull(image, &mut |progress| spinner.show_pull(&progress))
        .await?;
    if pulled == Pulled::Fetched {
        record.add(image.image().digest());
    }
    Ok(pulled)
}

#[cfg(test)]
mod tests {
    use schedkit_image::catalog::Cache;

    use super::*;
    use crate::fixtures::fake_runtime::{Behaviour, FakeRuntime};
    use crate::fixtures::launch;

    #[tokio::test]
    async fn what_a_command_pulls_is_kept_for_it() {
        let fake = FakeRuntime::new(Behaviour::Attaches);
        let record = PullRecord::new(&Cache::Folder(fake.path("cache")));
        let launch = launch();
        let image = launch.image();
        pull_image(&fake, image, &record).await.unwrap();
        assert!(record.unwanted(image.image().digest()).is_none());
    }
}
