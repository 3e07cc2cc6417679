//! Notices that the API server's data was restored from a backup: resource versions go back. A
//! watch that continues from a version which does not exist yet gets no error and no event, so all
//! watches have to list again.

use std::time::Duration;

use kube::Api;
use kube::api::ListParams;
use sked_api::SchedExt;
use tokio::sync::watch;

/// One small request each time.
const INTERVAL: Duration = Duration::from_secs(20);

/// Never returns.
pub(super) async fn observe(schedexts: Api<SchedExt>, relist: watch::Sender<()>) {
    let mut newest = 0;
    loop {
        let one = ListParams::default().limit(1);
        let listed = tokio::time::timeout(INTERVAL, schedexts.list_metadata(&one)).await;
        // The watches report an API server that cannot be reached.
        if let Ok(Ok(list)) = listed
            && let Some(version) = list.metadata.resource_version
            && let Ok(version) = version.parse::<u64>()
        {
            if version < newest {
                tracing::warn!(
                    from = newest,
                    to = version,
                    "resource versions went back: the API server's data was restored from a backup; \
                     everything is listed again"
                );
                relist.send_replace(());
            }
            newest = version;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
