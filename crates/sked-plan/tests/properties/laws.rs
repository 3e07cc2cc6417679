//! Invariants of one set of claims, and of a settled cluster.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;
use sked_api::label;
use sked_plan::OwnerId;
use sked_plan::claim::claim;
use sked_plan::daemonset::daemonset;
use sked_plan::eligibility::Eligibility;
use sked_plan::fingerprint::{differences, fingerprint};
use sked_plan::part::parts;
use sked_plan::plan::Outcome;
use sked_plan::status::status;
use sked_plan::{Node, Uid};

use crate::cluster::Cluster;
use crate::filled_in::filled_in;
use crate::generate::{cases, cluster, named, spec};
use crate::kube::{Verdict, verdict};

fn is_reserved(node: &Node) -> bool {
    let owner = node.labels.get(label::OWNER);
    owner.is_some_and(|owner| label::RESERVED.contains(&&**owner))
}

/// Which DaemonSet runs on which node.
fn places(cluster: &Cluster) -> BTreeMap<String, String> {
    let place = |node: &Node| {
        let takers = cluster.takers(node);
        Some((node.name.to_string(), takers.first()?.clone()))
    };
    cluster.nodes.iter().filter_map(place).collect()
}

/// LearnedNames of SchedExts that would run on a node if they were alone, but for those whose
/// DaemonSet's name another has.
fn claimants(cluster: &Cluster, node: &Node) -> Vec<String> {
    let mut free = node.clone();
    free.labels.remove(label::OWNER);
    let asks = |one: &&sked_api::SchedExt| {
        let mut parts = parts(one).filter(|part| {
            let name = part.key().name;
            let taken = |other: &sked_api::SchedExt| other.metadata.name.as_ref() == Some(&name);
            part.pool.is_none() || !cluster.schedexts.iter().any(taken)
        });
        parts.any(|part| {
            let template = serde_json::to_value(daemonset(&part)).unwrap();
            verdict(&template, &free) == Verdict::Run
        })
    };
    let name = |one: &sked_api::SchedExt| one.metadata.name.clone().unwrap();
    cluster.schedexts.iter().filter(asks).map(name).collect()
}

proptest! {
    #![proptest_config(cases())]

    /// In a settled cluster every claimed node has exactly one DaemonSet, every other node has none,
    /// and the assignments of all claimants account for their nodes.
    #[test]
    fn every_node_has_one_owner(mut cluster in cluster()) {
        cluster.settle();
        let claims = claim(&cluster.fleet());
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        for node in &cluster.nodes {
            let asked = claimants(&cluster, node);
            let one = usize::from(!asked.is_empty() && !is_reserved(node));
            prop_assert_eq!(cluster.takers(node).len(), one, "{} in {:#?}", node.name, cluster);
            for name in asked.into_iter().filter(|_| !is_reserved(node)) {
                *counted.entry(name).or_default() += 1;
            }
        }
        for schedext in &cluster.schedexts {
            let assignment = &claims.assignments[&Uid(schedext.metadata.uid.clone().unwrap())];
            let has: usize = assignment.parts.values().map(|part| part.nodes.len()).sum();
            let asked = counted.get(schedext.metadata.name.as_ref().unwrap()).copied();
            prop_assert_eq!(has + assignment.lost.count, asked.unwrap_or_default());
        }
    }

    /// The order of the input does not change the result.
    #[test]
    fn order_does_not_matter(cluster in cluster(), seed: u64) {
        let mut other = cluster.clone();
        let at = |length: usize| seed as usize % length.max(1);
        other.nodes.rotate_left(at(cluster.nodes.len()));
        other.schedexts.rotate_left(at(cluster.schedexts.len()));
        other.nodes.reverse();
        prop_assert_eq!(claim(&cluster.fleet()), claim(&other.fleet()));
    }

    /// In a settled cluster nothing is written, and the status does not change with time.
    #[test]
    fn rest_is_a_fixed_point(mut cluster in cluster()) {
        cluster.settle();
        prop_assert_eq!(cluster.work(), vec![]);
        let claims = claim(&cluster.fleet());
        for schedext in &cluster.schedexts {
            let mut schedext = schedext.clone();
            let mut observed = cluster.observed(&schedext, &claims);
            let plan = cluster.plan_for(&schedext, &claims);
            let first = status(&observed, &plan, &Outcome::default());
            schedext.status = Some(first.clone());
            observed.schedext = schedext.into();
            observed.now = jiff::Timestamp::from_second(1_800_000_000).unwrap();
            prop_assert_eq!(first, status(&observed, &plan, &Outcome::default()));
        }
    }

    /// A new SchedExt of equal or lower priority takes no node, whatever its age.
    #[test]
    fn an_incumbent_stays(mut cluster in cluster(), mut spec in spec(), created in 0..3_i64) {
        cluster.settle();
        let before = places(&cluster);
        let lowest = cluster.schedexts.iter().map(|one| one.spec.priority).min();
        spec.priority = lowest.unwrap_or_default();
        cluster.schedexts.push(named("newcomer", 99, created, spec));
        cluster.settle();
        let after = places(&cluster);
        for (node, owner) in before {
            prop_assert_eq!(after.get(&node), Some(&owner), "{}", node);
        }
    }

    /// No DaemonSet runs on an excluded node, and an eligible node has no reserved label except a
    /// quarantine.
    #[test]
    fn excluded_nodes_get_no_daemonset(mut cluster in cluster()) {
        cluster.settle();
        for node in &cluster.nodes {
            match cluster.eligibility.get(&node.name) {
                Some(Eligibility::Excluded(_)) => prop_assert!(cluster.takers(node).is_empty(), "{node:?}"),
                Some(Eligibility::Eligible) => prop_assert!(!is_reserved(node), "{node:?}"),
                None => {}
            }
        }
    }

    /// Labels are written only where more than one DaemonSet would run, and removed where not.
    #[test]
    fn only_contested_nodes_are_labelled(mut cluster in cluster()) {
        cluster.settle();
        for node in cluster.nodes.iter().filter(|node| !is_reserved(node)) {
            let mut free = node.clone();
            free.labels.remove(label::OWNER);
            let contested = cluster.takers(&free).len() > 1;
            prop_assert_eq!(node.labels.contains_key(label::OWNER), contested, "{:?}", node);
        }
    }

    /// A label that another client changes costs at most one write.
    #[test]
    fn one_flip_costs_one_write(mut cluster in cluster(), at: Index, to in 0..4_usize) {
        cluster.settle();
        prop_assume!(!cluster.nodes.is_empty());
        let owner = match cluster.schedexts.get(to) {
            Some(one) => OwnerId::new(&Uid(one.metadata.uid.clone().unwrap()), None).to_string(),
            None => "typo".to_owned(),
        };
        let at = at.index(cluster.nodes.len());
        cluster.nodes[at].labels.insert(label::OWNER.to_owned(), owner);
        cluster.run_pods();
        let node = cluster.nodes[at].name.clone();
        let writes = claim(&cluster.fleet()).writes;
        prop_assert!(writes.len() <= 1 && writes.iter().all(|write| write.node == node));
        cluster.settle();
    }

    /// An explicit default equals an omitted one.
    #[test]
    fn defaults_of_the_api_server_do_not_count(spec in spec(), limit: bool) {
        let mut one = named("one", 1, 0, spec);
        if limit {
            one.spec.resources =
                serde_json::from_value(json!({"limits": {"cpu": "1000m"}})).unwrap();
        }
        for part in parts(&one) {
            let desired = serde_json::to_value(daemonset(&part)).unwrap();
            let live = filled_in(desired.clone());
            prop_assert_eq!(differences(&live, &desired), Vec::<String>::new());
            prop_assert_eq!(fingerprint(&live), fingerprint(&desired));
        }
    }
}
