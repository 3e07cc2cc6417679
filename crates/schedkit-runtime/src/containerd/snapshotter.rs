//! Chooses the snapshotter for images and containers. Used by `pull` and `create`, which must use the
//! same one.

use super::api::introspection::{Plugin, PluginsRequest};
use super::session::Session;
use crate::driver::DriverError;

/// The preferred one first. The second copies whole layers and works on every file system.
const KNOWN: [&str; 2] = ["overlayfs", "native"];

pub(super) async fn choose(session: &Session) -> Result<&'static str, DriverError> {
    let filters = vec!["type==io.containerd.snapshotter.v1".to_owned()];
    let mut introspection = session.introspection();
    let response = session
        .call(introspection.plugins(PluginsRequest { filters }))
        .await?;
    first_working(&response.plugins).ok_or_else(|| {
        let none = format!("none of its snapshotters {} works", KNOWN.join(", "));
        session.refused(none)
    })
}

fn first_working(plugins: &[Plugin]) -> Option<&'static str> {
    let works = |name: &&str| {
        let mut named = plugins.iter().filter(|plugin| plugin.id == *name);
        named.any(|plugin| plugin.init_err.is_none())
    };
    KNOWN.into_iter().find(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_working_snapshotter_is_chosen() {
        let plugin = |id: &str, works: bool| Plugin {
            id: id.to_owned(),
            init_err: (!works).then(Default::default),
            ..Plugin::default()
        };
        let (good, bad) = (plugin("overlayfs", true), plugin("overlayfs", false));
        let native = plugin("native", true);
        assert_eq!(first_working(&[native.clone(), good]), Some("overlayfs"));
        assert_eq!(first_working(&[bad.clone(), native]), Some("native"));
        assert_eq!(first_working(&[bad, plugin("zfs", true)]), None);
    }
}
