//! The nodes themselves: what every other test takes for granted.

#[test]
fn both_nodes_are_ready_with_a_kernel_that_has_sched_ext() {
    let nodes = testkit::nodes();
    let objects = nodes.list(&["nodes"]);
    assert_eq!(objects.len(), 2);
    for (object, node) in objects.iter().zip(&nodes.lab().running().nodes) {
        assert_eq!(object["metadata"]["name"], node.name.as_str());
        let kernel = &object["status"]["nodeInfo"]["kernelVersion"];
        assert_eq!(kernel, node.kernel.as_str());
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|one| one["type"] == "Ready");
        assert_eq!(ready.unwrap()["status"], "True");
        assert_eq!(nodes.kernel_state(&node.name), "disabled");
    }
}
