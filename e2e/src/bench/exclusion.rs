//! What keeps a second scheduler off a node, by which pod templates are compared.

use anyhow::Context;
use k8s_openapi::api::apps::v1::DaemonSet;
use serde_json::json;
use sked_api::label::ROOT_SCHEDULER;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exclusion {
    None,
    /// As in templates before 0.1.0.
    AntiAffinity,
    /// As in today's template.
    HostPort,
}

impl Exclusion {
    /// Changes a DaemonSet with today's template.
    pub fn apply(self, daemonset: &mut DaemonSet) -> anyhow::Result<()> {
        if self == Self::HostPort {
            return Ok(());
        }
        let spec = daemonset.spec.as_mut();
        let pod = spec.and_then(|spec| spec.template.spec.as_mut());
        let pod = pod.context("a DaemonSet has a pod template")?;
        pod.host_network = None;
        pod.containers.iter_mut().for_each(|one| one.ports = None);
        if self == Self::AntiAffinity {
            let (key, value) = ROOT_SCHEDULER;
            let affinity = pod.affinity.get_or_insert_default();
            affinity.pod_anti_affinity = Some(serde_json::from_value(json!({
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "labelSelector": {"matchLabels": {key: value}},
                    "namespaceSelector": {},
                    "topologyKey": "kubernetes.io/hostname",
                }],
            }))?);
        }
        Ok(())
    }
}
