//! `process_*`: the manager's own process, read from `/proc` at each scrape. Names and meanings are
//! those of Prometheus' client libraries.

use std::fmt::Error;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// The start time never changes, so it is read once.
#[derive(Debug)]
pub(super) struct Process {
    start_time_seconds: Option<f64>,
}

/// The fields of `/proc/self/stat` that are needed, in the kernel's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    /// User and system time, in clock ticks.
    cpu_ticks: u64,
    /// After boot, in clock ticks.
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Process {
    pub(super) fn new() -> Self {
        let started = read_stat().map(|stat| seconds(stat.start_ticks));
        Self {
            start_time_seconds: started.zip(boot_time()).map(|(start, boot)| boot + start),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let out = &mut encoder;
        if let Some(stat) = read_stat() {
            let name = "process_cpu_seconds";
            let help = "User and system CPU time of this process";
            let metric = out.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(seconds(stat.cpu_ticks)).encode(metric)?;
            let resident = stat.resident_pages * page_size() as u64;
            let help = "Resident memory of this process";
            gauge(out, "process_resident_memory_bytes", help, resident as f64)?;
            let help = "Virtual memory of this process";
            let bytes = stat.virtual_bytes as f64;
            gauge(out, "process_virtual_memory_bytes", help, bytes)?;
        }
        if let Some(start) = self.start_time_seconds {
            let help = "Start of this process, in seconds since the Unix epoch";
            gauge(out, "process_start_time_seconds", help, start)?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // Reading the directory has opened one itself.
            let open = open.count().saturating_sub(1);
            gauge(
                out,
                "process_open_fds",
                "Open file descriptors",
                open as f64,
            )?;
        }
        // Without a limit there is no number to report.
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            let help = "The limit of open file descriptors";
            gauge(out, "process_max_fds", help, limit as f64)?;
        }
        Ok(())
    }
}

fn gauge(out: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> Result<(), Error> {
    let metric = out.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

fn read_stat() -> Option<Stat> {
    parse_stat(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The second field is the program's name in parentheses, which may contain spaces and parentheses.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // `fields` begins with the third field of proc_pid_stat(5).
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        cpu_ticks: number(14)? + number(15)?,
        start_ticks: number(22)?,
        virtual_bytes: number(23)?,
        resident_pages: number(24)?,
    })
}

/// In seconds since the Unix epoch.
fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn a_stat_line_is_parsed_whatever_the_programs_name_is() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 911 0 0 0 12 3 0 0 20 0 1 0 5150 12582912 640 18446744073709551615 0";
        let expected = Stat {
            cpu_ticks: 15,
            start_ticks: 5150,
            virtual_bytes: 12_582_912,
            resident_pages: 640,
        };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("7 (a) S 1"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn this_process_is_measured() {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process::new()));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let value = |name: &str| -> f64 {
            let found = text.lines().find_map(|line| {
                let (found, value) = line.split_once(' ')?;
                (found == name).then(|| value.parse().unwrap())
            });
            found.unwrap_or_else(|| panic!("{name} in\n{text}"))
        };
        assert!(value("process_cpu_seconds_total") >= 0.0);
        assert!(value("process_resident_memory_bytes") > 100_000.0);
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_max_fds") >= value("process_open_fds"));
        let start = UNIX_EPOCH + Duration::from_secs_f64(value("process_start_time_seconds"));
        let age = SystemTime::now().duration_since(start).unwrap_or_default();
        assert!(age < Duration::from_secs(3600), "{age:?}");
    }
}
