//! An API server that is away while the kernel goes on: afterwards the report has the current state.

use testkit::TcpProxy;

use testkit::node_agent::{AgentNode, KernelFiles, report_writes};

#[test]
fn after_an_outage_the_current_state_is_reported() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "cut-off");
    let mut kernel = KernelFiles::idle();
    kernel.attached("lab", 1);
    let (proxy, kubeconfig) = TcpProxy::before(&cluster, "agent-proxy.kubeconfig", |config| {
        node.authenticate(config);
    });
    let agent = node.agent_with(&kernel, &kubeconfig);
    agent.await_ready();
    let (before, counted) = (node.report(), report_writes(&cluster));

    proxy.close();
    agent.await_unready();
    assert_eq!(agent.process.probe("healthz"), Some(200));
    // Nothing changed meanwhile: the agent is ready again without a write.
    proxy.open();
    agent.await_ready();
    assert_eq!(node.report(), before);
    assert_eq!(report_writes(&cluster), counted);

    proxy.close();
    agent.await_unready();
    kernel.detached(1);
    kernel.attached("other", 2);
    kernel.detached(2);
    agent
        .process
        .eventually("the agent has tried to write", || {
            agent.metrics().lines().any(|line| {
                line.starts_with("sked_node_report_writes_total{result=\"error\"}")
                    && !line.ends_with(" 0")
            })
        });
    assert_eq!(node.report(), before, "the proxy is closed");
    assert!(!agent.is_ready());
    proxy.open();
    agent.await_state(&node, "disabled", 2);
    // Three changes. The attempt that the outage ended may have been about the first of them.
    let now = report_writes(&cluster);
    assert_eq!([now[0], now[2]], [counted[0], counted[2]]);
    let written = now[1] - counted[1];
    assert!((1..=2).contains(&written), "{written} writes");
}

#[test]
fn an_agent_started_without_an_api_server_reports_when_there_is_one() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "early");
    let mut kernel = KernelFiles::idle();
    let (proxy, kubeconfig) = TcpProxy::before(&cluster, "early-proxy.kubeconfig", |config| {
        node.authenticate(config);
    });
    proxy.close();
    let agent = node.agent_with(&kernel, &kubeconfig);
    agent.await_unready();
    kernel.attached("lab", 1);
    proxy.open();
    agent.await_state(&node, "enabled", 1);
}
