//! What the API server counts: how often it was asked for something, and how often it refused.

use lab::counters::{Counter, counters};

use crate::cluster::Cluster;

impl Cluster {
    /// How many requests with this verb for `resource` or `resource/subresource` it has had; with
    /// this response code, if one is given.
    #[track_caller]
    pub fn requests(&self, verb: &str, resource: &str, code: Option<u16>) -> u64 {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let matches = |counter: &Counter<'_>| {
            let labels = ["verb", "resource", "subresource"].map(|name| counter.label(name));
            labels == [verb, resource, subresource]
                && code.is_none_or(|code| counter.label("code") == code.to_string())
        };
        let text = self.raw("/metrics");
        let all = counters(&text, "apiserver_request_total");
        all.filter(matches).map(|counter| counter.count).sum()
    }

    /// How often somebody lacked a right. The API server does not count such requests as requests.
    #[track_caller]
    pub fn denials(&self) -> u64 {
        let text = self.raw("/metrics");
        let all = counters(&text, "authorization_attempts_total");
        let denied = all.filter(|counter| counter.label("result") != "allowed");
        denied.map(|counter| counter.count).sum()
    }
}
