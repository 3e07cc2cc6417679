//! SchedExts are created, changed and deleted while sked works, and writes take effect one by one, in
//! any order, some of them late. At no time may a node admit two DaemonSets.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use sked_api::SchedExtSpec;

use crate::cluster::Cluster;
use crate::generate::{NAMES, cases, named, nodes, spec};

#[derive(Clone, Debug)]
enum Event {
    /// Creates a SchedExt of this name, or changes it.
    Apply(usize, Box<SchedExtSpec>),
    /// Deletes it; its DaemonSet is deleted later.
    Delete(usize),
    /// Runs the garbage collector.
    Collect,
    /// Executes one of the writes that sked would do.
    Write(Index),
    /// Executes all writes that sked would do, forwards or backwards.
    WriteAll(bool),
    /// Places pods.
    Pods,
}

fn event() -> impl Strategy<Value = Event> {
    let name = 0..NAMES.len();
    prop_oneof![
        2 => (name.clone(), spec()).prop_map(|(at, spec)| Event::Apply(at, Box::new(spec))),
        1 => name.prop_map(Event::Delete),
        1 => Just(Event::Collect),
        6 => any::<Index>().prop_map(Event::Write),
        2 => any::<bool>().prop_map(Event::WriteAll),
        2 => Just(Event::Pods),
    ]
}

fn happen(cluster: &mut Cluster, event: &Event) {
    match event {
        Event::Apply(at, spec) => apply(cluster, NAMES[*at], spec),
        Event::Delete(at) => {
            let named =
                |one: &&mut sked_api::SchedExt| one.metadata.name.as_deref() == Some(NAMES[*at]);
            if let Some(one) = cluster.schedexts.iter_mut().find(named) {
                one.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
            }
        }
        Event::Collect => cluster.collect(),
        Event::Write(index) => {
            let work = cluster.work();
            if !work.is_empty() {
                cluster.write(&work[index.index(work.len())]);
            }
        }
        Event::WriteAll(backwards) => {
            let mut work = cluster.work();
            if *backwards {
                work.reverse();
            }
            for one in work {
                cluster.write(&one);
                exclusive(cluster);
            }
        }
        Event::Pods => cluster.run_pods(),
    }
}

fn apply(cluster: &mut Cluster, name: &str, spec: &SchedExtSpec) {
    let named_so = |one: &&mut sked_api::SchedExt| one.metadata.name.as_deref() == Some(name);
    match cluster.schedexts.iter_mut().find(named_so) {
        Some(one) if one.metadata.deletion_timestamp.is_some() => {}
        Some(one) => {
            one.spec = spec.clone();
            one.metadata.generation = one.metadata.generation.map(|number| number + 1);
        }
        None => {
            cluster.born += 1;
            let born = cluster.born;
            cluster.schedexts.push(named(name, born, 0, spec.clone()));
        }
    }
}

fn exclusive(cluster: &Cluster) {
    for node in &cluster.nodes {
        let takers = cluster.takers(node);
        assert!(
            takers.len() <= 1,
            "{} takes {takers:?}: {cluster:#?}",
            node.name
        );
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_node_ever_admits_two(nodes in nodes(), events in vec(event(), 0..40)) {
        let mut cluster = Cluster { nodes, ..Cluster::default() };
        for event in &events {
            happen(&mut cluster, event);
            exclusive(&cluster);
        }
        cluster.settle();
        exclusive(&cluster);
    }
}
