//! The agent's metrics. The kernel is read at each scrape: a scrape shows the current state, and the
//! counters of a scheduler disappear with it.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeLabelValue, EncodeMetric,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use schedkit_host::kernel::KernelInfo;
use schedkit_host::{Fact, HostRoot, KernelSchedExt, SchedExtState};

/// The states that always have a series.
const STATES: [&str; 5] = ["disabled", "enabling", "enabled", "disabling", "unknown"];

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "the names are the label's values")]
pub(super) enum WriteResult {
    success,
    error,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    result: WriteResult,
}

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    writes: Family<OfResult, Counter>,
    current: Gauge,
}

impl Metrics {
    pub(super) fn new(root: HostRoot) -> Self {
        let mut registry = Registry::default();
        let writes = Family::default();
        let current = Gauge::default();
        registry.register(
            "sked_node_report_writes",
            "Writes of the node's report by result",
            writes.clone(),
        );
        registry.register(
            "sked_node_report_current",
            "Whether the API server has the current report",
            current.clone(),
        );
        registry.register_collector(Box::new(Machine(root)));
        for result in [WriteResult::success, WriteResult::error] {
            drop(writes.get_or_create(&OfResult { result }));
        }
        Self {
            registry,
            writes,
            current,
        }
    }

    pub(super) fn wrote(&self, result: WriteResult) {
        self.writes.get_or_create(&OfResult { result }).inc();
    }

    pub(super) fn current(&self, is: bool) {
        self.current.set(i64::from(is));
    }

    /// In the OpenMetrics text format.
    pub(super) fn text(&self) -> Result<String, Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// The machine, read at each scrape: a few small files in sysfs and procfs.
#[derive(Debug)]
struct Machine(HostRoot);

impl Collector for Machine {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let out = &mut encoder;
        kernel(out, &KernelInfo::read(&self.0))?;
        let reading = KernelSchedExt::read(&self.0);
        states(out, &reading)?;
        let supported = match &reading {
            Fact::Known(_) => Some(1),
            Fact::Absent => Some(0),
            Fact::Unreadable(_) | Fact::Malformed(_) => None,
        };
        gauge(
            out,
            "sked_node_supported",
            "Whether the kernel has sched_ext",
            supported,
        )?;
        match reading.known() {
            Some(sched_ext) => counts(out, sched_ext),
            None => Ok(()),
        }
    }
}

fn kernel(out: &mut DescriptorEncoder<'_>, kernel: &KernelInfo) -> Result<(), Error> {
    let release = kernel.release.known().map_or("", |text| text.as_str());
    let boot_id = kernel.boot_id.known().map_or("", String::as_str);
    let help = "The running kernel; values that cannot be read are empty";
    let mut family = out.encode_descriptor("sked_node_info", help, None, MetricType::Gauge)?;
    let labels = [("kernel", release), ("boot_id", boot_id)];
    ConstGauge::new(1_i64).encode(family.encode_family(&labels)?)
}

fn states(out: &mut DescriptorEncoder<'_>, reading: &Fact<KernelSchedExt>) -> Result<(), Error> {
    let is = match reading {
        Fact::Known(sched_ext) => state_label(sched_ext.state.known()),
        Fact::Absent => "",
        Fact::Unreadable(_) | Fact::Malformed(_) => "unknown",
    };
    let help = "The state of sched_ext: 1 for one state, all 0 if the kernel has no sched_ext";
    let mut family = out.encode_descriptor("sked_node_state", help, None, MetricType::Gauge)?;
    for state in STATES {
        let value = ConstGauge::new(i64::from(state == is));
        value.encode(family.encode_family(&[("state", state)])?)?;
    }
    Ok(())
}

fn state_label(state: Option<&SchedExtState>) -> &'static str {
    match state {
        Some(SchedExtState::Disabled) => "disabled",
        Some(SchedExtState::Prepping | SchedExtState::Enabling) => "enabling",
        Some(SchedExtState::Enabled) => "enabled",
        Some(SchedExtState::Disabling) => "disabling",
        Some(SchedExtState::Unknown(_)) | None => "unknown",
    }
}

fn counts(out: &mut DescriptorEncoder<'_>, sched_ext: &KernelSchedExt) -> Result<(), Error> {
    let number = |fact: &Fact<u64>| fact.known().copied();
    gauge(
        out,
        "sked_node_enable_seq",
        "How often a scheduler was attached since the machine started",
        number(&sched_ext.enable_seq),
    )?;
    gauge(
        out,
        "sked_node_nr_rejected",
        "Tasks that were rejected",
        number(&sched_ext.nr_rejected),
    )?;
    gauge(
        out,
        "sked_node_hotplug_seq",
        "Rises with every CPU hotplug",
        number(&sched_ext.hotplug_seq),
    )?;
    if let Some(ops) = sched_ext.attached() {
        let help = "The scheduler that is attached";
        let mut family = out.encode_descriptor("sked_node_ops", help, None, MetricType::Gauge)?;
        let value = ConstGauge::new(1_i64);
        value.encode(family.encode_family(&[("ops", ops.as_str())])?)?;
    }
    if let Some(events) = sched_ext.events.known() {
        let help = "Event counters of the attached scheduler, by the kernel's names";
        let mut family =
            out.encode_descriptor("sked_node_events", help, None, MetricType::Counter)?;
        for (event, count) in events.iter() {
            let value = ConstCounter::new(count);
            value.encode(family.encode_family(&[("event", event)])?)?;
        }
    }
    Ok(())
}

fn gauge<N: EncodeGaugeValue>(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: Option<N>,
) -> Result<(), Error> {
    match value {
        Some(value) => {
            let metric = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::promql;

    fn scraped(machine: &Path) -> String {
        Metrics::new(HostRoot::at(machine)).text().unwrap()
    }

    #[track_caller]
    fn has_line(text: &str, line: &str) {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let machine = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = machine.path().join("sys/kernel/sched_ext").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        machine
    }

    fn attached() -> tempfile::TempDir {
        machine(&[
            ("state", "enabled\n"),
            ("enable_seq", "3\n"),
            ("nr_rejected", "18446744073709551615\n"),
            ("hotplug_seq", "9\n"),
            ("root/ops", "lab\n"),
            ("root/events", "SCX_EV_A 5\nSCX_EV_B 0\n"),
        ])
    }

    #[test]
    fn alerts_and_dashboard_use_metrics_that_exist() {
        let exported = promql::exported(&scraped(attached().path()));
        let used = promql::used_of_agent();
        assert!(used.len() >= 8, "{used:?}");
        for name in used {
            assert!(exported.contains(&name), "{name} is not in {exported:?}");
        }
    }

    #[test]
    fn an_attached_scheduler_has_all_metrics() {
        let machine = attached();
        let text = scraped(machine.path());
        for line in [
            r#"sked_node_state{state="disabled"} 0"#,
            r#"sked_node_state{state="enabling"} 0"#,
            r#"sked_node_state{state="enabled"} 1"#,
            r#"sked_node_state{state="disabling"} 0"#,
            r#"sked_node_state{state="unknown"} 0"#,
            r#"sked_node_info{kernel="",boot_id=""} 1"#,
            "sked_node_supported 1",
            "sked_node_enable_seq 3",
            "sked_node_nr_rejected 18446744073709551615",
            "sked_node_hotplug_seq 9",
            r#"sked_node_ops{ops="lab"} 1"#,
            r#"sked_node_events_total{event="SCX_EV_A"} 5"#,
            r#"sked_node_events_total{event="SCX_EV_B"} 0"#,
            r#"sked_node_report_writes_total{result="success"} 0"#,
            r#"sked_node_report_writes_total{result="error"} 0"#,
            "sked_node_report_current 0",
        ] {
            has_line(&text, line);
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_kernel_without_sched_ext_is_in_no_state() {
        let text = scraped(tempfile::tempdir().unwrap().path());
        has_line(&text, "sked_node_supported 0");
        assert!(!text.contains("sked_node_enable_seq"), "{text}");
        for state in STATES {
            has_line(&text, &format!("sked_node_state{{state=\"{state}\"}} 0"));
        }
    }

    #[test]
    fn invalid_values_are_unknown() {
        let machine = machine(&[
            ("state", "bypassing\n"),
            ("enable_seq", "many\n"),
            ("root/ops", "a\u{1b}\"b\n"),
            ("root/events", &"x".repeat(1 << 20)),
        ]);
        let text = scraped(machine.path());
        has_line(&text, r#"sked_node_state{state="unknown"} 1"#);
        for absent in ["sked_node_enable_seq", "sked_node_ops", "sked_node_events"] {
            assert!(!text.contains(absent), "{text}");
        }
    }
}
