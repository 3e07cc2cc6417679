//! The agent's probes and metrics.

use testkit::node_agent::{AgentNode, KernelFiles};

#[track_caller]
fn assert_line(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
}

#[test]
fn metrics_are_read_from_the_kernel_on_each_request() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "measured");
    let mut kernel = KernelFiles::idle();
    kernel.attached("lab", 5);
    let agent = node.agent(&kernel);
    agent.await_ready();
    let text = agent.metrics();
    for line in [
        r#"sked_node_info{kernel="6.18.15+deb13-cloud-amd64",boot_id="0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11"} 1"#,
        r#"sked_node_state{state="enabled"} 1"#,
        r#"sked_node_state{state="disabled"} 0"#,
        r#"sked_node_ops{ops="lab"} 1"#,
        r#"sked_node_events_total{event="SCX_EV_SELECT_CPU_FALLBACK"} 1"#,
        "sked_node_supported 1",
        "sked_node_enable_seq 5",
        "sked_node_nr_rejected 0",
        "sked_node_hotplug_seq 0",
        "sked_node_report_current 1",
        r#"sked_node_report_writes_total{result="success"} 2"#,
        r#"sked_node_report_writes_total{result="error"} 0"#,
    ] {
        assert_line(&text, line);
    }
    kernel.detached(5);
    let text = agent.metrics();
    assert_line(&text, r#"sked_node_state{state="disabled"} 1"#);
    assert!(!text.contains("sked_node_ops{"), "{text}");
    assert_eq!(agent.process.probe("healthz"), Some(200));
}
